#include "crope/study/loss_claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/study/synthetic_study.h"

namespace crope::study {
namespace {

TEST(LossClaims, PairTheSeedsThatBothVariantsHave) {
  const Study study{.runs = {test::loss_run("rope", 0, 3.0), test::loss_run("rope", 2, 3.2),
                             test::loss_run("rope", 3, 9), test::loss_run("crope_all", 0, 3.1),
                             test::loss_run("crope_all", 1, 1), test::loss_run("crope_all", 2, 3.5)}};
  const Case result = loss_order(runs_by_variant(study), "rope", "crope_all");
  EXPECT_EQ(result.claim.text, "validation loss: rope below crope_all");
  EXPECT_EQ(result.claim.seeds, 2u);
  ASSERT_TRUE(result.evidence);
  EXPECT_NEAR(result.evidence->estimate, 0.2, 1e-12);
  EXPECT_EQ(result.claim.ours, "3.1000 against 3.3000, +0.2000 nat");
}

TEST(LossClaims, OneSeedIsNeverEnough) {
  const Study study{.runs = {test::loss_run("rope", 0, 3.0), test::loss_run("crope_all", 0, 5.0)}};
  for (const Case& result : {loss_order(runs_by_variant(study), "rope", "crope_all"),
                             loss_closeness(runs_by_variant(study), "crope_all", 0.5)}) {
    EXPECT_EQ(result.claim.verdict, Verdict::undecided);
    EXPECT_EQ(result.claim.reason, "one seed");
    EXPECT_EQ(result.claim.seeds, 1u);
    EXPECT_FALSE(result.evidence || result.claim.p || result.claim.interval);
  }
}

TEST(LossClaims, WhatIsMissingIsNamed) {
  Study study{.runs = {test::loss_run("rope", 0, 3.0), test::loss_run("rope", 1, 3.0), test::loss_run("crope_qk", 2, 3),
                       test::loss_run("crope_all", 0, std::numeric_limits<double>::quiet_NaN())}};
  const auto reason = [&](const char* other) {
    const Case result = loss_order(runs_by_variant(study), "rope", other);
    EXPECT_EQ(result.claim.verdict, Verdict::not_measured);
    return result.claim.reason;
  };
  EXPECT_EQ(reason("half_rope_qk"), "no run of half_rope_qk");
  EXPECT_EQ(reason("crope_qk"), "rope and crope_qk have no seed in common");
  EXPECT_EQ(reason("crope_all"), "no finite val_loss in metrics.jsonl of crope_all");
}

// A run that diverged must not make its variant look better by being skipped.
TEST(LossClaims, AVariantWithALossThatIsNotFiniteCannotBeBetterOrClose) {
  Study study;
  for (int seed = 0; seed < 4; ++seed) {
    study.runs.push_back(test::loss_run("rope", seed, 3.0 + 0.0011 * seed));
    study.runs.push_back(test::loss_run("crope_all", seed, 3.0013 + 0.00107 * seed));
    study.runs.push_back(test::loss_run("half_rope_all", seed, 3.5 + 0.00121 * seed));
  }
  const auto claim = [&](const char* text) { return test::find_claim(judge_claims(study), text); };
  EXPECT_EQ(claim("validation loss: crope_all below half_rope_all").verdict, Verdict::holds);
  EXPECT_EQ(claim("validation loss: crope_all close to rope").verdict, Verdict::holds);

  study.runs[4].val_loss = std::numeric_limits<double>::quiet_NaN();  // crope_all_1
  const Claim order = claim("validation loss: crope_all below half_rope_all");
  EXPECT_EQ(order.verdict, Verdict::undecided);
  EXPECT_EQ(order.seeds, 3u);
  EXPECT_EQ(order.reason, "crope_all_1: the last val_loss is not finite; 1 seed skipped");
  const Claim close = claim("validation loss: crope_all close to rope");
  EXPECT_EQ(close.verdict, Verdict::undecided);
  EXPECT_EQ(close.reason, order.reason);
  const Claim against = claim("validation loss: rope below crope_all");
  EXPECT_NE(against.reason.find("1 seed skipped (crope_all_1: the last val_loss"), std::string::npos) << against.reason;
  const Claim rope = claim("validation loss: rope below half_rope_all");
  EXPECT_EQ(rope.verdict, Verdict::holds) << rope.reason;
}

TEST(LossClaims, ALossThatIsNotFiniteIsNoPointForTheOtherSideEither) {
  Study study;
  for (int seed = 0; seed < 4; ++seed) {
    study.runs.push_back(test::loss_run("rope", seed, 3.5 + 0.0011 * seed));
    study.runs.push_back(test::loss_run("crope_all", seed, 3.0 + 0.00107 * seed));
  }
  const char* text = "validation loss: rope below crope_all";
  EXPECT_EQ(test::find_claim(judge_claims(study), text).verdict, Verdict::does_not_hold);
  study.runs[1].val_loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(test::find_claim(judge_claims(study), text).verdict, Verdict::undecided);
}

TEST(LossClaims, TheMarginIsRelativeToRope) {
  const Study study{.runs = {test::loss_run("rope", 0, 4.0), test::loss_run("rope", 1, 4.0),
                             test::loss_run("crope_all", 0, 4.005), test::loss_run("crope_all", 1, 4.007)}};
  EXPECT_EQ(loss_closeness(runs_by_variant(study), "crope_all", 0.0025).evidence->if_significant, Verdict::holds);
  EXPECT_EQ(loss_closeness(runs_by_variant(study), "crope_all", 0.001).evidence->if_significant,
            Verdict::does_not_hold);
}

class StabilityClaim : public testing::Test {
 protected:
  // Two smooth runs of each variant.
  StabilityClaim() {
    for (const model::VariantTraits& row : model::kVariants) {
      for (const int seed : {0, 1}) {
        StudyRun run = test::loss_run(std::string(row.name), seed, 3);
        for (int step = 1; step <= 200; ++step) run.steps.push_back({.step = step, .loss = 3, .grad_norm = 1});
        run.last_step = 200;
        study_.runs.push_back(run);
      }
    }
  }

  StudyRun& run(const std::string& name) { return *std::ranges::find(study_.runs, name, &StudyRun::name); }
  void remove(const std::string& name) {
    std::erase_if(study_.runs, [&](const StudyRun& run) { return run.name == name; });
  }
  void stop(const std::string& name, std::size_t step) {
    run(name).steps.resize(step);
    run(name).last_step = static_cast<std::int64_t>(step);
    run(name).is_finished = false;
  }
  Claim judge() { return test::find_claim(judge_claims(study_), "training is stable (no spikes)"); }

  Study study_;
};

TEST_F(StabilityClaim, HoldsWithTwoSeedsOfAllVariants) {
  EXPECT_EQ(judge().verdict, Verdict::holds);
  EXPECT_EQ(judge().ours, "all of 12 runs, 1,800 steps");
  EXPECT_NE(judge().reason.find("no loss exceeds the median of the 50 steps before by 0.5 nat"), std::string::npos);
  remove("crope_qk_1");
  EXPECT_EQ(judge().verdict, Verdict::undecided);
  EXPECT_EQ(judge().reason, "one seed of crope_qk");
  remove("crope_qk_0");
  EXPECT_EQ(judge().reason, "only 5 of 6 variants have runs");
}

TEST_F(StabilityClaim, ASpikeDecidesWhateverTheOthersAre) {
  run("rope_1").steps[150].loss = 4;
  stop("crope_all_0", 20);
  run("crope_all_1").steps.resize(20);
  remove("half_rope_qk_0");
  remove("half_rope_qk_1");
  EXPECT_EQ(judge().verdict, Verdict::does_not_hold);
  EXPECT_EQ(judge().ours, "1 of 10 runs unstable");
  EXPECT_TRUE(judge().reason.starts_with("rope_1, step 151: loss 4.000")) << judge().reason;
}

TEST_F(StabilityClaim, ASpikeOfAnOnlySeedDecidesNothing) {
  remove("rope_0");
  run("rope_1").steps[150].loss = 4;
  EXPECT_EQ(judge().verdict, Verdict::undecided);
  EXPECT_TRUE(judge().reason.starts_with("one seed of rope; rope_1, step 151")) << judge().reason;
}

TEST_F(StabilityClaim, LooksAtRunsThatStopped) {
  stop("crope_all_0", 130);
  EXPECT_EQ(judge().verdict, Verdict::undecided);
  EXPECT_EQ(judge().reason, "crope_all_0 stopped at step 130 of 200");
  run("crope_all_0").steps.back().loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judge().verdict, Verdict::does_not_hold);
  EXPECT_TRUE(judge().reason.starts_with("crope_all_0, step 130: the loss is not finite")) << judge().reason;
}

TEST_F(StabilityClaim, RunsThatAreTooShortAreNotMeasured) {
  for (StudyRun& run : study_.runs) run.steps.resize(20);
  EXPECT_EQ(judge().verdict, Verdict::not_measured);
  EXPECT_NE(judge().reason.find("no step after warm-up"), std::string::npos);
}

}  // namespace
}  // namespace crope::study
