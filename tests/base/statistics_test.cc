#include "crope/base/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace crope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Statistics, ASummaryHasTheMeanAndTheSampleDeviation) {
  const SampleSummary summary = summarize(std::array{1.0, 2.0, 3.0, 6.0});
  EXPECT_DOUBLE_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.deviation, std::sqrt(14.0 / 3));
  EXPECT_DOUBLE_EQ(summary.standard_error(), std::sqrt(14.0 / 3) / 2);
  EXPECT_EQ(summarize(std::array{5.0}).deviation, 0);
}

// Two-sided 5% values of the printed tables; n seeds have n - 1 degrees.
TEST(Statistics, TheMedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 10, 2}), 3);
}

TEST(Statistics, StudentQuantilesMatchTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.95, 4), 2.132, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.025, 4), -2.776, 5e-4);
}

TEST(Statistics, StudentPValuesInvertTheQuantiles) {
  EXPECT_NEAR(student_t_two_sided_p(2.7764451, 4), 0.05, 1e-7);
  EXPECT_NEAR(student_t_two_sided_p(-2.7764451, 4), 0.05, 1e-7);
  EXPECT_NEAR(student_t_upper_tail(2.1318468, 4), 0.05, 1e-7);
  EXPECT_DOUBLE_EQ(student_t_two_sided_p(0, 4), 1);
  EXPECT_EQ(student_t_two_sided_p(kInfinity, 4), 0);
  EXPECT_EQ(student_t_upper_tail(-kInfinity, 4), 1);
}

TEST(Statistics, AnIntervalReachesTheQuantileTimesTheStandardError) {
  const Interval interval = student_interval(/*estimate=*/1, /*standard_error=*/1, /*degrees=*/3, 0.95);
  EXPECT_NEAR(interval.low, 1 - 3.182446, 1e-5);
  EXPECT_NEAR(interval.high, 1 + 3.182446, 1e-5);
}

TEST(Statistics, StudentizedRangeMatchesThePublishedTables) {
  EXPECT_NEAR(studentized_range_quantile(0.95, 3, 10), 3.877, 5e-4);
  EXPECT_NEAR(studentized_range_quantile(0.95, 6, 20), 4.445, 5e-4);
  EXPECT_NEAR(studentized_range_quantile(0.95, 2, 1), 17.97, 5e-3);
  EXPECT_NEAR(studentized_range_quantile(0.99, 4, 5), 7.804, 1e-3);
  EXPECT_NEAR(studentized_range_quantile(0.90, 3, 10), 3.270, 5e-4);
  EXPECT_NEAR(studentized_range_quantile(0.90, 6, 20), 3.950, 5e-4);
}

// The range of two values is sqrt(2) times the size of their difference.
TEST(Statistics, StudentizedRangeOfTwoGroupsIsStudents) {
  for (const double degrees : {1.0, 2.0, 5.0, 40.0}) {
    for (const double t : {0.3, 1.5, 4.0}) {
      EXPECT_NEAR(studentized_range_p(t * std::sqrt(2.0), 2, degrees), student_t_two_sided_p(t, degrees), 1e-8)
          << degrees << " degrees, t " << t;
    }
  }
}

TEST(Statistics, StudentizedRangeIsBounded) {
  EXPECT_EQ(studentized_range_cdf(0, 6, 20), 0);
  EXPECT_EQ(studentized_range_cdf(-1, 6, 20), 0);
  EXPECT_EQ(studentized_range_p(kInfinity, 6, 20), 0);
  EXPECT_NEAR(studentized_range_p(60, 6, 20), 0, 1e-8);
}

// By hand, sorted: 4 x 0.01 = 0.04; 3 x 0.02 = 0.06; 2 x 0.03 = 0.06; 1 x 0.04 = 0.04, which may not fall under 0.06.
TEST(Statistics, HolmMultipliesByTheTestsThatRemain) {
  const std::array p = {0.03, 0.01, 0.04, 0.02};
  const std::vector<double> adjusted = holm_adjusted(p);
  ASSERT_EQ(adjusted.size(), 4u);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.06);
  EXPECT_TRUE(holm_adjusted({}).empty());
}

}  // namespace
}  // namespace crope
