#include "crope/study/claim_case.h"

#include <gtest/gtest.h>

#include "tests/study/synthetic_study.h"

namespace crope::study {
namespace {

Study three_runs() {
  Study study;
  study.runs = {test::loss_run("rope", 0, 3), test::loss_run("rope", 1, 3.1), test::loss_run("crope_all", 0, 3.2)};
  study.runs[1].is_finished = false;
  return study;
}

TEST(ClaimCase, RunsByVariantAndSeed) {
  const Study study = three_runs();
  const Runs all = all_runs_by_variant(study), finished = runs_by_variant(study);
  EXPECT_EQ(all.at("rope").size(), 2u);
  EXPECT_EQ(finished.at("rope").size(), 1u);
  EXPECT_EQ(finished.at("rope").at(0), &study.runs[0]);
  EXPECT_EQ(finished.at("crope_all").at(0)->val_loss, 3.2);
}

TEST(ClaimCase, OneSeedIsNeverTested) {
  bool is_called = false;
  const Case decided = tested(unmeasured("a < b", "0.1", ""), 1, "b is lower", [&] {
    is_called = true;
    return Evidence{};
  });
  EXPECT_FALSE(is_called);
  EXPECT_FALSE(decided.evidence);
  EXPECT_EQ(decided.claim.verdict, Verdict::undecided);
  EXPECT_EQ(decided.claim.reason, "one seed");
}

TEST(ClaimCase, EvidenceGoesIntoTheClaim) {
  const Evidence evidence{.estimate = 0.2, .interval = {0.1, 0.3}, .seeds = 5, .p = 0.01};
  Case decided = tested(unmeasured("a < b", "0.1", ""), 5, "b is lower", [&] { return evidence; });
  ASSERT_TRUE(decided.claim.interval);
  EXPECT_EQ(decided.claim.interval->low, 0.1);
  EXPECT_EQ(decided.claim.p, 0.01);
  EXPECT_EQ(decided.claim.seeds, 5u);
  EXPECT_EQ(decided.opposite, "b is lower");
  // Evidence with a problem has no interval to show.
  Evidence copies = evidence;
  copies.problem = kNoSpread;
  EXPECT_FALSE(tested(unmeasured("a < b", "0.1", ""), 5, "", [&] { return copies; }).claim.interval);
}

TEST(ClaimCase, CountsInWords) {
  EXPECT_EQ(counted(1, "run"), "1 run");
  EXPECT_EQ(counted(2, "run"), "2 runs");
  EXPECT_EQ(counted(0, "run"), "0 runs");
}

}  // namespace
}  // namespace crope::study
