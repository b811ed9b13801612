#include "crope/report/axis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace crope::report {
namespace {

TEST(Axis, AnExtentTakesFiniteValues) {
  Extent extent;
  EXPECT_TRUE(extent.empty());
  for (const double value : {2.0, std::nan(""), -1.0, HUGE_VAL}) extent.take(value);
  EXPECT_EQ(extent.low, -1);
  EXPECT_EQ(extent.high, 2);
  EXPECT_DOUBLE_EQ(extent.padded(0.1).low, -1.3);
  EXPECT_GT(Extent(3, 3).padded(0.1).size(), 0);
  EXPECT_GT(Extent().padded(0.1).size(), 0);
}

TEST(Axis, TicsStandAtRoundNumbers) {
  EXPECT_DOUBLE_EQ(round_step({0, 1}, 4), 0.5);
  EXPECT_DOUBLE_EQ(round_step({0, 620}, 4), 200);
  EXPECT_DOUBLE_EQ(round_step({0.31, 0.34}, 4), 0.01);
  EXPECT_EQ(decimals(0.01), 2);
  EXPECT_EQ(decimals(0.5), 1);
  EXPECT_EQ(decimals(200), 0);
  EXPECT_EQ(tics_command("xtics", {0, 1}, 4), "set xtics 0.5\n");
  EXPECT_TRUE(tics_command("xtics", {1, 1}, 4).empty());
}

}  // namespace
}  // namespace crope::report
