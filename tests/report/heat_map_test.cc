#include "crope/report/heat_map.h"

#include <gtest/gtest.h>

#include "tests/report/figure_checks.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

using test::has;

TEST(HeatMap, CellsHaveTheTransparencyOfTheirWeight) {
  const Figure figure = heat_map({.name = "heat",
                                  .title = "h",
                                  .values = {{1, 0}, {0.2, 0.6}},
                                  .row_labels = {"next", "two on"},
                                  .outlined = {{0, 1}}});
  const std::string color = std::string(row_of(Color::orange).light.substr(1));
  EXPECT_TRUE(has(figure, "from -0.5,-0.5 to 0.5,0.5 fs solid noborder fc rgb '#00" + color)) << figure.commands;
  EXPECT_TRUE(has(figure, "from -0.5,0.5 to 0.5,1.5 fs solid noborder fc rgb '#cc" + color));
  EXPECT_TRUE(has(figure, "from 0.5,0.5 to 1.5,1.5 fs solid noborder fc rgb '#66" + color));
  EXPECT_FALSE(has(figure, "from 0.5,-0.5 to 1.5,0.5 fs solid")) << "a weight of 0 is not drawn";
  EXPECT_TRUE(has(figure, ",-0.42 to 1.42,0.42 fs empty border"));
  EXPECT_TRUE(has(figure, "set ytics ('next' 0, 'two on' 1)"));
}

TEST(HeatMap, NegativeValuesHaveAColourOfTheirOwn) {
  const Figure figure = heat_map({.name = "heat",
                                  .title = "h",
                                  .values = {{0.6, -0.6}},
                                  .negative_color = Color::green,
                                  .x_label = "frequency",
                                  .y_label = "layer",
                                  .alt = "shares"});
  EXPECT_TRUE(has(figure, "fc rgb '#66" + std::string(row_of(Color::orange).light.substr(1))));
  EXPECT_TRUE(has(figure, "from 0.5,-0.5 to 1.5,0.5 fs solid noborder fc rgb '#66" +
                              std::string(row_of(Color::green).light.substr(1))));
  EXPECT_TRUE(has(figure, "set xlabel 'frequency'"));
  EXPECT_FALSE(has(figure, "unset ytics"));
  EXPECT_EQ(figure.alt, "shares");
}

TEST(HeatMap, NoRowsAreDrawnToo) {
  const test::TemporaryFolder folder;
  EXPECT_GT(draw(heat_map({.name = "no_rows"}), folder.path()).svg.size(), 200u);
}

}  // namespace
}  // namespace crope::report
