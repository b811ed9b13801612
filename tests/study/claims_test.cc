#include "crope/study/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tests/study/synthetic_study.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

bool is_order(const Claim& claim) {
  return claim.text.find("below") != std::string::npos;
}

// Six variants with normal noise, on top of an effect of the seed that they share.
Study simulate(const std::map<std::string, double>& losses, int seeds, std::mt19937_64& random,
               double deviation = 0.002) {
  std::normal_distribution<double> noise(0, deviation), common(0, 0.02);
  Study study;
  for (int seed = 0; seed < seeds; ++seed) {
    const double shared = common(random);
    for (const auto& [variant, loss] : losses) {
      study.runs.push_back(test::loss_run(variant, seed, loss + shared + noise(random)));
    }
  }
  return study;
}

TEST(Claims, AreAllThereInAFixedOrder) {
  const std::vector<Claim> claims = judge_claims({});
  std::vector<std::string> orders;
  std::set<std::string> texts;
  for (const Claim& claim : claims) {
    texts.insert(claim.text);
    EXPECT_EQ(claim.verdict, Verdict::not_measured) << claim.text;
    EXPECT_NE(claim.paper, "") << claim.text;
    EXPECT_NE(claim.paper_verdict, "") << claim.text;
    if (is_order(claim)) orders.push_back(claim.text);
  }
  EXPECT_EQ(claims.size(), 23u);
  EXPECT_EQ(texts.size(), claims.size());
  EXPECT_EQ(orders,
            (std::vector<std::string>{
                "validation loss: rope below crope_qk", "validation loss: rope below crope_qkv",
                "validation loss: rope below crope_all", "validation loss: rope below half_rope_qk",
                "validation loss: rope below half_rope_all", "validation loss: crope_all below half_rope_all",
                "validation loss: crope_qk below half_rope_qk", "validation loss: crope_qkv below half_rope_qk"}));
}

TEST(Claims, FindTheTruthInEitherDirection) {
  std::mt19937_64 random(1);
  for (const Claim& claim : judge_claims(simulate(test::kOrderedLosses, 5, random))) {
    if (!is_order(claim)) continue;
    EXPECT_EQ(claim.verdict, Verdict::holds) << claim.text << ": " << claim.reason;
  }
  std::map<std::string, double> reversed;
  for (const auto& [variant, loss] : test::kOrderedLosses) reversed[variant] = 6 - 2 * (loss - 3);
  for (const Claim& claim : judge_claims(simulate(reversed, 5, random))) {
    if (!is_order(claim)) continue;
    EXPECT_EQ(claim.verdict, Verdict::does_not_hold) << claim.text << ": " << claim.reason;
    EXPECT_TRUE(claim.reason.starts_with("the loss is higher: p ")) << claim.reason;
  }
}

TEST(Claims, OneSeedDecidesNothingThatIsMeasured) {
  std::mt19937_64 random(2);
  for (const Claim& claim : judge_claims(simulate(test::kOrderedLosses, 1, random))) {
    EXPECT_TRUE(claim.verdict == Verdict::undecided || claim.verdict == Verdict::not_measured) << claim.text;
    EXPECT_TRUE(!is_order(claim) || claim.reason == "one seed") << claim.text;
  }
}

// At 5% for the family, 2,000 studies give 100 wrong verdicts on average, with a standard deviation of 10.
TEST(Claims, StudiesWithoutDifferencesRarelyGetAVerdict) {
  std::mt19937_64 random(3);
  std::map<std::string, double> equal = test::kOrderedLosses;
  for (auto& [variant, loss] : equal) loss = 3;
  for (const int seeds : {3, 5}) {
    int wrong = 0;
    for (int study = 0; study < 2000; ++study) {
      bool is_decided = false;
      for (const Claim& claim : judge_claims(simulate(equal, seeds, random))) {
        is_decided = is_decided || (is_order(claim) && claim.verdict != Verdict::undecided);
      }
      wrong += is_decided ? 1 : 0;
    }
    EXPECT_LE(wrong, 120) << seeds << " seeds";
  }
}

// Losses in few decimals have little or no spread over two or three seeds: that is not certainty.
TEST(Claims, RoundedStudiesWithoutDifferencesRarelyGetAVerdict) {
  std::mt19937_64 random(8);
  std::map<std::string, double> equal = test::kOrderedLosses;
  for (auto& [variant, loss] : equal) loss = 3;
  constexpr int kStudies = 400;
  for (const double scale : {1e3, 1e4}) {
    for (const int seeds : {2, 3}) {
      for (const double deviation : {0.0005, 0.002}) {
        int wrong = 0;
        for (int i = 0; i < kStudies; ++i) {
          Study study = simulate(equal, seeds, random, deviation);
          for (StudyRun& run : study.runs) run.val_loss = std::round(*run.val_loss * scale) / scale;
          const std::vector<Claim> claims = judge_claims(study);
          wrong += std::ranges::any_of(
              claims, [](const Claim& claim) { return is_order(claim) && claim.verdict != Verdict::undecided; });
        }
        EXPECT_LE(wrong, 0.08 * kStudies) << scale << ", " << seeds << " seeds, noise " << deviation;
      }
    }
  }
}

TEST(Claims, CopiedRunsDecideNothing) {
  const test::TemporaryFolder folder;
  for (const auto& [variant, loss] : test::kOrderedLosses) {
    for (const int seed : {0, 1}) {
      const auto run = folder / fmt::format("{}_{}", variant, seed);
      std::filesystem::create_directories(run);
      write_file(run / "metrics.jsonl", fmt::format("{{\"step\":200,\"val_loss\":{}}}\n", loss));
    }
  }
  const Study study = read_study(folder.path());
  EXPECT_EQ(study.runs.size(), 6u);
  for (const Claim& claim : judge_claims(study)) {
    EXPECT_TRUE(claim.verdict == Verdict::undecided || claim.verdict == Verdict::not_measured) << claim.text;
  }
  // In memory, where nothing has removed the copies, with losses of full precision.
  std::mt19937_64 random(9);
  Study copies = simulate(test::kOrderedLosses, 1, random);
  for (std::size_t i = 0; i < 6; ++i) {
    copies.runs.push_back(copies.runs[i]);
    copies.runs.back().seed = 1;
  }
  const std::vector<Claim> claims = judge_claims(copies);
  const Claim& order = test::find_claim(claims, "validation loss: rope below crope_all");
  EXPECT_EQ(order.verdict, Verdict::undecided);
  EXPECT_EQ(order.p, 1);
  EXPECT_EQ(order.reason, kNoSpread);
  EXPECT_FALSE(order.interval);
}

TEST(Claims, CellsAreTheRowOfEveryTable) {
  const std::vector<std::string> cells =
      claim_cells({.text = "a", .paper = "b", .ours = "-", .verdict = Verdict::undecided, .reason = "c"});
  EXPECT_EQ(cells, (std::vector<std::string>{"a", "b", "-", "-", "-", "-", "undecided", "c", ""}));
  EXPECT_EQ(cells.size(), kClaimColumns.size());
  const auto full = claim_cells({.interval = Interval{-0.5, 0.25}, .seeds = 3, .p = 1e-6});
  EXPECT_EQ(full[3] + full[4] + full[5], "[-0.5000, +0.2500]3<0.0001");
}

TEST(Claims, DifferencesLikeThePapersAreFound) {
  std::mt19937_64 random(4);
  int found = 0, all = 0;
  for (int study = 0; study < 200; ++study) {
    for (const Claim& claim : judge_claims(simulate(test::kOrderedLosses, 5, random))) {
      if (!is_order(claim)) continue;
      ++all;
      found += claim.verdict == Verdict::holds ? 1 : 0;
    }
  }
  EXPECT_EQ(all, 1600);
  EXPECT_GE(found, 0.9 * all);
}

TEST(Claims, AreReadFromRunDirectories) {
  const test::TemporaryFolder folder;
  std::mt19937_64 random(5);
  for (const StudyRun& run : simulate(test::kOrderedLosses, 4, random).runs) {
    test::write_run(folder.path(), run.variant, run.seed, *run.val_loss);
  }
  const Json rows = claims_to_json(judge_claims(read_study(folder.path())));
  ASSERT_EQ(rows.size(), 23u);
  EXPECT_EQ(rows[0]["claim"], "crope_qk saves 25% of the attention parameters");
  EXPECT_EQ(rows[0]["verdict"], "holds");
  EXPECT_EQ(rows[0]["interval"], nullptr);
  const Json& order = rows[10];
  EXPECT_EQ(order["claim"], "validation loss: rope below half_rope_all");
  EXPECT_EQ(order["verdict"], "holds");
  EXPECT_EQ(order["n"], 4);
  EXPECT_LT(order["p"].get<double>(), 0.01);
  EXPECT_LT(order["interval"][0].get<double>(), 0.045);
  EXPECT_GT(order["interval"][1].get<double>(), 0.045);
  std::vector<std::string> keys;
  for (const auto& [key, value] : order.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"claim", "paper", "ours", "interval", "n", "p", "verdict", "reason",
                                            "paper_verdict"}));
}

TEST(Claims, HoldForAllVariantsOrNotAtAll) {
  Study study;
  for (int seed = 0; seed < 3; ++seed) {
    for (const char* variant : {"rope", "crope_all"}) {
      StudyRun run = test::loss_run(variant, seed, 3);
      const int correct = (run.variant == "rope" ? 600 : 400) + seed;
      run.scores["hellaswag"] = {
          .value = correct / 1000.0,
          .leaves = {{"hellaswag", std::string(correct, '1') + std::string(1000 - correct, '0')}}};
      study.runs.push_back(run);
    }
  }
  const std::vector<Claim> claims = judge_claims(study);
  EXPECT_EQ(test::find_claim(claims, "hellaswag: rope is best").verdict, Verdict::undecided);
  EXPECT_EQ(test::find_claim(claims, "hellaswag: rope is best").reason, "only 2 of 6 variants have scores");
  EXPECT_EQ(test::find_claim(claims, "hellaswag: crope_all close to rope").verdict, Verdict::does_not_hold);
}

}  // namespace
}  // namespace crope::study
