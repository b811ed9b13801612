#include "crope/study/loss_claims.h"

#include <gtest/gtest.h>

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

TEST(LossClaims, TheMarginIsRelativeToRope) {
  const Study study{.runs = {test::loss_run("rope", 0, 4.0), test::loss_run("rope", 1, 4.0),
                             test::loss_run("crope_all", 0, 4.005), test::loss_run("crope_all", 1, 4.007)}};
  EXPECT_EQ(loss_closeness(runs_by_variant(study), "crope_all", 0.0025).evidence->if_significant, Verdict::holds);
  EXPECT_EQ(loss_closeness(runs_by_variant(study), "crope_all", 0.001).evidence->if_significant,
            Verdict::does_not_hold);
}

TEST(LossClaims, StabilityNeedsTwoSeedsOfEachVariant) {
  StudyRun run = test::loss_run("rope", 0, 3);
  for (int step = 1; step <= 100; ++step) run.steps.push_back({.step = step, .loss = 3, .grad_norm = 1});
  Study study{.runs = {run}};
  EXPECT_EQ(stability_case(runs_by_variant(study)).claim.reason, "one seed");
  run.seed = 1;
  run.name = "rope_1";
  study.runs.push_back(run);
  EXPECT_EQ(stability_case(runs_by_variant(study)).claim.verdict, Verdict::holds);
  study.runs[1].steps[80].loss = 4;
  const Claim claim = stability_case(runs_by_variant(study)).claim;
  EXPECT_EQ(claim.verdict, Verdict::does_not_hold);
  EXPECT_EQ(claim.ours, "1 of 2 runs unstable");
  EXPECT_NE(claim.reason.find("rope_1, step 81"), std::string::npos) << claim.reason;
  study.runs[1].steps.resize(20);
  EXPECT_EQ(stability_case(runs_by_variant(study)).claim.verdict, Verdict::not_measured);
}

}  // namespace
}  // namespace crope::study
