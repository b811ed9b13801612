#include "crope/report/bar_chart.h"

#include <gtest/gtest.h>

#include "tests/report/figure_checks.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

using test::has;

TEST(BarChart, BarsErrorsAndTheReferenceStandAtTheirValues) {
  const Figure figure = bar_chart({.name = "bars",
                                   .title = "Accuracy",
                                   .bars = {{.label = "rope", .value = 0.5, .error = 0.1, .text = "50%"},
                                            {.label = "crope", .value = 0.25, .text = "25%"}},
                                   .reference = 0.75,
                                   .reference_text = "chance"});
  EXPECT_TRUE(has(figure, "to first 0.5, first 1.34 fc")) << figure.commands;
  EXPECT_TRUE(has(figure, "set object rectangle from first 0, first 1.66 to first 0.25, first 2.34"));
  EXPECT_TRUE(has(figure, "set arrow from first 0.4, first 1 to first 0.6, first 1 heads"));
  EXPECT_FALSE(has(figure, "first 2 heads")) << "no error, no arrow";
  EXPECT_TRUE(has(figure, "set arrow from first 0.75, graph 0 to first 0.75, graph 1"));
  EXPECT_TRUE(has(figure, "set xrange [0:0.765]")) << "the reference is the largest value";
  EXPECT_EQ(figure.alt, "Accuracy: rope 50%; crope 25%;");
}

TEST(BarChart, PartsOfAStackFollowOneAnother) {
  const Figure figure =
      stacked_bar_chart({.name = "stack",
                         .title = "Parameters",
                         .bars = {{.label = "rope", .parts = {{2, Color::blue}, {3, Color::green}}, .text = "5"}}});
  EXPECT_TRUE(has(figure, "to first 2, first 1.34 fc")) << figure.commands;
  EXPECT_TRUE(has(figure, "rectangle from first 2, ")) << "the second part begins where the first ends";
  EXPECT_TRUE(has(figure, "to first 5, first 1.34 fc"));
}

TEST(BarChart, NextToNothingIsDrawnToo) {
  const test::TemporaryFolder folder;
  EXPECT_GT(draw(bar_chart({.name = "no_bars", .title = "t"}), folder.path()).svg.size(), 200u);
  EXPECT_GT(draw(bar_chart({.name = "zero", .bars = {{.label = "a", .value = 0}}}), folder.path()).svg.size(), 200u);
}

}  // namespace
}  // namespace crope::report
