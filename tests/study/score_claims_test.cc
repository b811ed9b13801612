#include "crope/study/score_claims.h"

#include <gtest/gtest.h>

#include "tests/study/synthetic_study.h"

namespace crope::study {
namespace {

constexpr int kItems = 1000;

// A run whose first `correct` items are right, so that two runs differ in as few items as possible.
StudyRun scored(const std::string& variant, std::int64_t seed, const std::string& task, int correct) {
  StudyRun run = test::loss_run(variant, seed, 3);
  const std::string items = std::string(correct, '1') + std::string(kItems - correct, '0');
  run.scores[task] = {.value = correct / static_cast<double>(kItems), .leaves = {{task, items}}};
  return run;
}

// Three seeds of each variant with these scores, and a little noise that differs between variants.
Study scored_study(const std::string& task, const std::map<std::string, int>& correct) {
  Study study;
  int variant_number = 0;
  for (const auto& [variant, count] : correct) {
    ++variant_number;
    for (int seed = 0; seed < 3; ++seed) {
      study.runs.push_back(scored(variant, seed, task, count + (seed * variant_number) % 3 - 1));
    }
  }
  return study;
}

const std::map<std::string, int> kPaperLike = {{"rope", 500},      {"crope_qk", 480},     {"crope_qkv", 478},
                                               {"crope_all", 475}, {"half_rope_qk", 420}, {"half_rope_all", 400}};

TEST(ScoreClaims, OrderIsTestedItemByItem) {
  const Study study = scored_study("hellaswag", kPaperLike);
  const Case result = score_order(runs_by_variant(study), "hellaswag", "crope_all", "half_rope_all");
  ASSERT_TRUE(result.evidence) << result.claim.reason;
  EXPECT_LT(result.evidence->p, 0.05);
  EXPECT_EQ(result.evidence->if_significant, Verdict::holds);
  EXPECT_EQ(result.claim.paper, "0.327 against 0.320");
}

TEST(ScoreClaims, ClosenessHasItsMargin) {
  const Study study = scored_study("hellaswag", kPaperLike);
  EXPECT_EQ(score_closeness(runs_by_variant(study), "hellaswag", "crope_all", 0.1).evidence->if_significant,
            Verdict::holds);
  EXPECT_EQ(score_closeness(runs_by_variant(study), "hellaswag", "crope_all", 0.005).evidence->if_significant,
            Verdict::does_not_hold);
}

TEST(ScoreClaims, BestIsAgainstAllVariants) {
  Study study = scored_study("hellaswag", kPaperLike);
  Case result = score_best(runs_by_variant(study), "hellaswag");
  ASSERT_TRUE(result.evidence) << result.claim.reason;
  EXPECT_EQ(result.evidence->if_significant, Verdict::holds);
  EXPECT_EQ(result.obstacle, "");
  EXPECT_NEAR(result.evidence->estimate, 0.02, 0.002);

  std::erase_if(study.runs, [](const StudyRun& run) { return run.variant == "crope_qk"; });
  result = score_best(runs_by_variant(study), "hellaswag");
  EXPECT_EQ(result.obstacle, "only 5 of 6 variants have scores");
  std::erase_if(study.runs, [](const StudyRun& run) { return run.variant == "rope"; });
  EXPECT_EQ(score_best(runs_by_variant(study), "hellaswag").claim.verdict, Verdict::not_measured);
}

TEST(ScoreClaims, AScoreAtChanceDecidesNothing) {
  std::map<std::string, int> scores = kPaperLike;
  scores["half_rope_all"] = 252;
  const Study study = scored_study("hellaswag", scores);
  const Case order = score_order(runs_by_variant(study), "hellaswag", "crope_all", "half_rope_all");
  EXPECT_EQ(order.claim.verdict, Verdict::undecided);
  EXPECT_TRUE(order.claim.reason.starts_with("at chance: half_rope_all 0.252")) << order.claim.reason;
  EXPECT_FALSE(order.evidence) << "it does not enter the family";
  EXPECT_TRUE(score_closeness(runs_by_variant(study), "hellaswag", "crope_all", 0.005).evidence)
      << "both exceed chance";
  EXPECT_FALSE(score_best(runs_by_variant(study), "hellaswag").evidence);
}

TEST(ScoreClaims, WithoutAnyRightAnswerGsm8kIsAtChance) {
  Study study = scored_study("gsm8k", {{"rope", 1}, {"crope_all", 1}});
  for (StudyRun& run : study.runs) run.scores["gsm8k"] = {.value = 0, .leaves = {{"gsm8k", std::string(kItems, '0')}}};
  EXPECT_TRUE(score_spread(runs_by_variant(study), "gsm8k", 0.005).claim.reason.starts_with("at chance"));
}

TEST(ScoreClaims, SpreadHoldsWithinTheMarginAndFailsBeyond) {
  std::map<std::string, int> equal = kPaperLike;
  for (auto& [variant, count] : equal) count = 400;
  EXPECT_EQ(score_spread(runs_by_variant(scored_study("mmlu", equal)), "mmlu", 0.02).evidence->if_significant,
            Verdict::holds);
  const Study different = scored_study("mmlu", kPaperLike);
  const Case result = score_spread(runs_by_variant(different), "mmlu", 0.005);
  EXPECT_EQ(result.evidence->if_significant, Verdict::does_not_hold);
  EXPECT_LT(result.evidence->p, 0.001);
  EXPECT_EQ(result.claim.ours, "0.4000 to 0.4990 over 6 variants");
}

TEST(ScoreClaims, UnequalItemsAreNotCompared) {
  Study study = scored_study("hellaswag", kPaperLike);
  for (StudyRun& run : study.runs) {
    if (run.name == "crope_all_1") run.scores["hellaswag"].leaves["hellaswag"] += "1";
  }
  const Claim claim = score_order(runs_by_variant(study), "hellaswag", "crope_all", "half_rope_all").claim;
  EXPECT_EQ(claim.verdict, Verdict::not_measured);
  EXPECT_EQ(claim.ours, "-");
  EXPECT_NE(claim.reason.find("items"), std::string::npos) << claim.reason;
}

TEST(ScoreClaims, MissingAndSingleScoresAreNamed) {
  const Study one{.runs = {scored("rope", 0, "hellaswag", 500), scored("crope_all", 0, "hellaswag", 400)}};
  EXPECT_EQ(score_closeness(runs_by_variant(one), "hellaswag", "crope_all", 0.005).claim.reason, "one seed");
  EXPECT_EQ(score_order(runs_by_variant(one), "hellaswag", "crope_all", "half_rope_all").claim.reason,
            "no HellaSwag score of half_rope_all");
  EXPECT_EQ(score_spread(runs_by_variant(one), "mmlu", 0.005).claim.reason, "fewer than two variants have MMLU scores");
  const Study apart{.runs = {scored("rope", 0, "hellaswag", 500), scored("crope_all", 1, "hellaswag", 400)}};
  EXPECT_EQ(score_closeness(runs_by_variant(apart), "hellaswag", "crope_all", 0.005).claim.reason,
            "the variants have no seed in common");
}

}  // namespace
}  // namespace crope::study
