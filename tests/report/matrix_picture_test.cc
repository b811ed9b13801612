#include "crope/report/matrix_picture.h"

#include <gtest/gtest.h>

#include "tests/report/figure_checks.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

using test::has;

TEST(MatrixPicture, EveryEntryStandsInItsCellAndBlocksAreSetApart) {
  const Figure figure = matrix_picture({.name = "m",
                                        .title = "tied",
                                        .entries = {{{"a", Color::blue}, {"b", Color::green}, {"c", Color::blue}}},
                                        .vector = {"x", "y", "z"},
                                        .note = "half the parameters"});
  EXPECT_TRUE(has(figure, "set label 'a' at 0.5000,0.5000 center")) << figure.commands;
  EXPECT_TRUE(has(figure, "set label 'b' at 1.5000,0.5000 center"));
  EXPECT_TRUE(has(figure, "set label 'c' at 2.7200,0.5000 center")) << "a gap after every second entry";
  EXPECT_TRUE(has(figure, "set label 'z' at"));
  EXPECT_EQ(figure.alt, "tied: half the parameters");
}

TEST(MatrixPicture, ArrowsStartAtTheOrigin) {
  const test::TemporaryFolder folder;
  const Figure figure = plane_picture({.name = "plane",
                                       .title = "reflection",
                                       .arrows = {{.x = 0.6, .y = -0.8, .color = Color::blue, .label = "v"}},
                                       .mirror = {1, 1}});
  EXPECT_TRUE(has(figure, "'v'")) << figure.commands;
  EXPECT_TRUE(has(figure, "set arrow from 0,0 to 0.60000,-0.80000 head")) << figure.commands;
  EXPECT_TRUE(has(figure, "set arrow from -0.8839,-0.8839 to 0.8839,0.8839 nohead")) << "the mirror, 1.25 long";
  EXPECT_GT(draw(figure, folder.path()).svg.size(), 500u);
}

}  // namespace
}  // namespace crope::report
