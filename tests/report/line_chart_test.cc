#include "crope/report/line_chart.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/report/figure_checks.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

using test::has;

TEST(LineChart, ThinningAndSmoothingKeepMeans) {
  const Points points = {{1, 2}, {2, 4}, {3, 6}, {4, 8}};
  EXPECT_EQ(thinned(points, 2), (Points{{1.5, 3}, {3.5, 7}}));
  EXPECT_EQ(thinned(points, 4), points);
  EXPECT_EQ(smoothed(points, 2), (Points{{1, 2}, {2, 3}, {3, 5}, {4, 7}}));
  EXPECT_EQ(smoothed(points, 1), points);
}

TEST(LineChart, CurvesAndBandsHaveTheirPoints) {
  const Figure figure =
      line_chart({.name = "loss",
                  .title = "Loss",
                  .series = {{.label = "rope", .points = {{1, 9}, {2, 4.5}}, .band = {{1, 8, 10}, {2, 4, 5}}},
                             {.label = "crope", .points = {{1, 7}}, .marked = true}}});
  EXPECT_TRUE(has(figure, data_block("sband0", {{1, 8, 10}, {2, 4, 5}}))) << figure.commands;
  EXPECT_TRUE(has(figure, data_block("s0", {{1, 9}, {2, 4.5}}))) << figure.commands;
  EXPECT_TRUE(has(figure, "with filledcurves"));
  EXPECT_TRUE(has(figure, "with linespoints")) << "a marked curve";
}

TEST(LineChart, NextToNothingIsDrawnToo) {
  const test::TemporaryFolder folder;
  const auto bytes = [&](const LineChart& chart) { return draw(line_chart(chart), folder.path()).svg.size(); };
  EXPECT_GT(bytes({.name = "one", .series = {{.label = "a", .points = {{1, 2}}}}}), 200u);
  EXPECT_GT(bytes({.name = "none", .series = {}}), 200u);
  EXPECT_GT(bytes({.name = "flat", .series = {{.label = "a", .points = {{1, 0}, {2, 0}}}}, .log_x = true}), 200u);
  EXPECT_GT(bytes({.name = "holes", .series = {{.label = "a", .points = {{1, NAN}, {2, 1}}}}, .inset = Inset{"i", {}}}),
            200u);
}

}  // namespace
}  // namespace crope::report
