#include "crope/report/interval_chart.h"

#include <gtest/gtest.h>

namespace crope::report {
namespace {

IntervalChart two_rows() {
  return {.name = "scores",
          .title = "Scores",
          .rows = {{.label = "rope", .value = 0.331, .margin = 0.004, .text = "0.331 ± 0.004", .hollow = true},
                   {.label = "crope_all", .value = 0.327, .margin = 0.004, .samples = {0.325, 0.329}}},
          .reference = 0.25,
          .reference_text = "chance 0.25"};
}

bool contains(const Figure& figure, const std::string& text) {
  return figure.commands.find(text) != std::string::npos;
}

TEST(IntervalChart, AReferenceOutsideTheAxisIsNamedAtItsEdge) {
  const Figure left = interval_chart(two_rows());
  EXPECT_TRUE(contains(left, "'← chance 0.25'")) << left.commands;
  EXPECT_FALSE(contains(left, "dt (2,3)"));
  IntervalChart chart = two_rows();
  chart.reference = 0.5;
  EXPECT_TRUE(contains(interval_chart(chart), "'chance 0.25 →'"));
}

TEST(IntervalChart, AReferenceNearbyIsALine) {
  IntervalChart chart = two_rows();
  chart.reference = 0.322;
  const Figure figure = interval_chart(chart);
  EXPECT_TRUE(contains(figure, "'chance 0.25'"));
  EXPECT_TRUE(contains(figure, "dt (2,3)"));
  chart.reference = 0;
  chart.shows_reference = true;
  EXPECT_TRUE(contains(interval_chart(chart), "dt (2,3)"));
}

TEST(IntervalChart, EqualValuesHaveAReadableAxis) {
  IntervalChart chart{.name = "zero", .rows = {{.label = "a", .value = 0, .margin = 1e-17}}};
  EXPECT_TRUE(contains(interval_chart(chart), "set xrange [-0.01:0.01]"));
  chart.rows[0].value = 0.02;
  chart.reference = 0;
  chart.shows_reference = true;
  EXPECT_TRUE(contains(interval_chart(chart), "dt (2,3)"));
}

TEST(IntervalChart, SaysInWordsWhatItShows) {
  EXPECT_EQ(interval_chart(two_rows()).alt, "Scores: rope 0.331 ± 0.004; crope_all ;");
}

}  // namespace
}  // namespace crope::report
