#include "crope/study/decision.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace crope::study {
namespace {

TEST(Decision, OrderIsAStudentTestOfTheDifference) {
  // Mean 2, deviation 1, standard error 1/sqrt(3): t = 3.4641 with two degrees.
  const Evidence evidence = order_evidence(seed_difference(std::array{1.0, 2.0, 3.0}));
  EXPECT_NEAR(evidence.p, 0.0741799, 1e-6);
  EXPECT_NEAR(evidence.interval.low, 2 - 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(evidence.interval.high, 2 + 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_EQ(evidence.seeds, 3u);
  EXPECT_EQ(evidence.if_significant, Verdict::holds);
  EXPECT_EQ(order_evidence({-1, 0.1, 3}).if_significant, Verdict::does_not_hold);
}

TEST(Decision, DifferencesWithoutSpreadShowNothing) {
  const std::array spread = {Difference{0.3, 0.1, 3}, Difference{0.5, 0, 3}, Difference{0.2, 0.1, 3}};
  for (const Evidence& evidence :
       {order_evidence({0.5, 0, 2}), order_evidence({0, 0, 2}), order_evidence({3, 1e-9, 5}),
        order_evidence(seed_difference(std::array{0.1, 0.1})), closeness_evidence({0.1, 0, 2}, 0.2),
        closeness_evidence({0.5, 0, 2}, 0.2), spread_evidence(spread, 3, 10), spread_evidence(spread, 3, 0.001)}) {
    EXPECT_EQ(evidence.p, 1);
    EXPECT_EQ(evidence.problem, kNoSpread);
  }
  const std::array differences = {Difference{0.5, 0, 3}, Difference{0.2, 0.001, 3}};
  EXPECT_EQ(best_evidence(differences).p, 1);
  EXPECT_FALSE(interval_95(seed_difference(std::array{0.1, 0.1})));
  EXPECT_EQ(order_evidence({0.5, 0.1, 3}).problem, "");
}

// Two values rounded to 0.001 have a variance of 2 x 0.001^2 / 12, whatever their differences show.
TEST(Decision, RoundedLossesHaveTheErrorOfTheirRounding) {
  const std::array differences = {0.1, 0.1001, 0.1};
  EXPECT_NEAR(seed_difference(differences, 0.001).standard_error, std::sqrt(1e-6 / 6 / 3), 1e-12);
  EXPECT_NEAR(seed_difference(differences, 1e-9).standard_error, seed_difference(differences).standard_error, 1e-15);
  // Equal differences of 0.1: t = 0.1 / 0.0002357 = 424.3 with two degrees.
  const Evidence equal = order_evidence(seed_difference(std::array{0.1, 0.1, 0.1}, 0.001));
  EXPECT_NEAR(equal.p, 5.555e-6, 1e-8);
  EXPECT_EQ(equal.problem, "");
}

// Mean 0.1, standard error 0.1, four degrees, margin 0.4: t = 5 and 3; the larger p is that of 3.
TEST(Decision, ClosenessIsTwoOneSidedTests) {
  const Evidence evidence = closeness_evidence({0.1, 0.1, 5}, 0.4);
  EXPECT_NEAR(evidence.p, 0.0199710, 1e-6);
  EXPECT_EQ(evidence.if_significant, Verdict::holds);
  EXPECT_NEAR(evidence.interval.high, 0.1 + 2.131847 * 0.1, 1e-6) << "the 90% interval";
  // The 90% interval ends at the margin exactly if p is 5%.
  EXPECT_NEAR(closeness_evidence({0.1, 0.1, 5}, 0.1 + 0.2131847).p, 0.05, 1e-6);
}

TEST(Decision, ClosenessFailsOnlyBeyondTheMargin) {
  // (0.7 - 0.4) / 0.1 = 3: two-sided.
  const Evidence evidence = closeness_evidence({-0.7, 0.1, 5}, 0.4);
  EXPECT_NEAR(evidence.p, 2 * 0.0199710, 1e-6);
  EXPECT_EQ(evidence.if_significant, Verdict::does_not_hold);
  // Clearly different from zero, but not clearly beyond the margin: no evidence either way.
  EXPECT_GT(closeness_evidence({0.41, 0.05, 5}, 0.4).p, 0.5);
}

// At the margin itself neither verdict is right: 5% of 4,000 are 200.
TEST(Decision, ClosenessIsRarelyWrongAtTheMargin) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> difference(0.01, 0.002);
  int close = 0, apart = 0;
  for (int study = 0; study < 4000; ++study) {
    std::array<double, 4> seeds;
    for (double& value : seeds) value = difference(random);
    const Evidence evidence = closeness_evidence(seed_difference(seeds), 0.01);
    if (evidence.p > 0.05) continue;
    ++(evidence.if_significant == Verdict::holds ? close : apart);
  }
  EXPECT_LE(close, 240);
  EXPECT_LE(apart, 140) << "half of the two-sided 5%";
}

TEST(Decision, TheBestMustBeatEachOther) {
  const std::array ahead = {Difference{0.5, 0.1, 5}, Difference{0.2, 0.1, 5}};
  EXPECT_DOUBLE_EQ(best_evidence(ahead).p, order_evidence(ahead[1]).p);
  EXPECT_EQ(best_evidence(ahead).if_significant, Verdict::holds);
  EXPECT_EQ(best_evidence(ahead).estimate, 0.2);
  const std::array behind = {Difference{0.5, 0.1, 5}, Difference{-0.4, 0.1, 5}};
  EXPECT_DOUBLE_EQ(best_evidence(behind).p, 2 * order_evidence(behind[1]).p);
  EXPECT_EQ(best_evidence(behind).if_significant, Verdict::does_not_hold);
}

// Three variants, six seeds: ten degrees, where q is 3.877 at 95% and 3.270 at 90%. Standard errors of differences are
// sqrt(2) times those of means.
TEST(Decision, SpreadIsTheStudentisedRange) {
  const double error = 0.1 * std::sqrt(2.0);
  const std::array pairs = {Difference{0.3877, error, 6}, Difference{0.2, error, 6}, Difference{-0.1877, error, 6}};
  const Evidence evidence = spread_evidence(pairs, 3, 0.1);
  EXPECT_NEAR(evidence.p, 0.05, 1e-4);
  EXPECT_EQ(evidence.if_significant, Verdict::does_not_hold);
  EXPECT_NEAR(evidence.interval.low, 0.3877 - 0.3270, 1e-4);
  // All simultaneous intervals lie within the margin as soon as the widest does.
  EXPECT_EQ(spread_evidence(pairs, 3, 0.3877 + 0.3271).if_significant, Verdict::holds);
  EXPECT_NEAR(spread_evidence(pairs, 3, 0.3877 + 0.3271).p, 0.05, 1e-4);
  EXPECT_EQ(spread_evidence(pairs, 3, 0.3877 + 0.3269).if_significant, Verdict::does_not_hold);
}

TEST(Decision, AboveChanceIsTheLowerEndOfTheInterval) {
  EXPECT_TRUE(is_above_chance({0.0278, 0.01, 5}));
  EXPECT_FALSE(is_above_chance({0.0277, 0.01, 5}));
  EXPECT_FALSE(is_above_chance({-1, 0.01, 5}));
  EXPECT_FALSE(is_above_chance({0, 0, 5})) << "nothing right in any seed";
}

TEST(Decision, HolmDecidesAboutAllTogether) {
  const std::array family = {Evidence{.p = 0.02, .if_significant = Verdict::holds},
                             Evidence{.p = 0.001, .if_significant = Verdict::does_not_hold},
                             Evidence{.p = 0.03, .if_significant = Verdict::holds}};
  const std::vector<Decision> decisions = decide(family);
  EXPECT_EQ(decisions[0].verdict, Verdict::holds);  // 2 x 0.02
  EXPECT_DOUBLE_EQ(decisions[0].adjusted_p, 0.04);
  EXPECT_EQ(decisions[1].verdict, Verdict::does_not_hold);
  EXPECT_EQ(decisions[2].verdict, Verdict::holds);  // not under 0.04
  EXPECT_DOUBLE_EQ(decisions[2].adjusted_p, 0.04);
  const std::array alone = {Evidence{.p = 0.051, .if_significant = Verdict::holds}};
  EXPECT_EQ(decide(alone)[0].verdict, Verdict::undecided);
  EXPECT_TRUE(decide({}).empty());
}

}  // namespace
}  // namespace crope::study
