// Every kind of figure goes through gnuplot without complaint, also where it has next to nothing to show.
#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "crope/report/bar_chart.h"
#include "crope/report/heat_map.h"
#include "crope/report/line_chart.h"
#include "crope/report/matrix_picture.h"
#include "crope/report/run_figures.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

TEST(Charts, ThinningAndSmoothingKeepMeans) {
  const Points points = {{1, 2}, {2, 4}, {3, 6}, {4, 8}};
  EXPECT_EQ(thinned(points, 2), (Points{{1.5, 3}, {3.5, 7}}));
  EXPECT_EQ(thinned(points, 4), points);
  EXPECT_EQ(smoothed(points, 2), (Points{{1, 2}, {2, 3}, {3, 5}, {4, 7}}));
  EXPECT_EQ(smoothed(points, 1), points);
}

TEST(Charts, AreDrawn) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs;
  for (const char* variant : {"rope", "crope_qk", "crope_qkv", "crope_all", "half_rope_qk", "half_rope_all"}) {
    runs.push_back(
        read_run(test::make_run(folder / variant, {.variant = variant, .final_loss = 3 + 0.02 * double(runs.size())})));
  }
  std::vector<Figure> figures = loss_figures(runs);
  for (auto make : {downstream_figures, throughput_figures}) {
    for (Figure& figure : make(runs)) figures.push_back(std::move(figure));
  }
  for (Figure& figure : parameter_schematic()) figures.push_back(std::move(figure));
  figures.push_back(
      parameter_bars({{"rope", "rope", 100, 400, 300, 5, 0}, {"crope_all", "crope_all", 100, 200, 300, 5, 0.5}}));
  figures.push_back(heat_map({.name = "heat",
                              .title = "h",
                              .values = {{1, 0}, {0.3, 0.7}},
                              .row_labels = {"next", "nexnext"},
                              .outlined = {{0, 1}}}));
  figures.push_back(plane_picture({.name = "plane",
                                   .title = "σ1",
                                   .arrows = {{.x = 1, .y = 0, .color = Color::blue, .label = "a"}},
                                   .mirror = {1, 1}}));
  ASSERT_EQ(figures.size(), 2u + 3 + 1 + 2 + 1 + 2);
  for (const Figure& figure : figures) {
    const DrawnFigure drawn = draw(figure, folder.path());
    EXPECT_GT(drawn.svg.size(), 500u) << figure.name;
    EXPECT_FALSE(drawn.alt.empty());
    EXPECT_GT(std::filesystem::file_size(folder / (figure.name + ".png")), 500u);
  }
}

TEST(Charts, NextToNothingIsDrawnToo) {
  const test::TemporaryFolder folder;
  const Points one = {{1, 2}};
  draw(line_chart({.name = "one", .series = {{.label = "a", .points = one}}}), folder.path());
  draw(line_chart({.name = "none", .series = {}}), folder.path());
  draw(line_chart({.name = "flat", .series = {{.label = "a", .points = {{1, 0}, {2, 0}}}}, .log_x = true}),
       folder.path());
  draw(line_chart({.name = "holes", .series = {{.label = "a", .points = {{1, NAN}, {2, 1}}}}, .inset = Inset{"i", {}}}),
       folder.path());
  draw(bar_chart({.name = "no_bars", .title = "t"}), folder.path());
  draw(bar_chart({.name = "zero", .bars = {{.label = "a", .value = 0}}}), folder.path());
  draw(heat_map({.name = "no_rows"}), folder.path());
}

}  // namespace
}  // namespace crope::report
