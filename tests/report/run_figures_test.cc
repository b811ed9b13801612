#include "crope/report/run_figures.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "crope/report/bar_chart.h"
#include "crope/report/heat_map.h"
#include "crope/report/interval_chart.h"
#include "crope/report/line_chart.h"
#include "crope/report/matrix_picture.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

TEST(RunFigures, AreDrawn) {
  const test::TemporaryFolder folder;
  LossFigure losses{.name = "val_loss", .title = "Validation loss", .end_title = "last 200 steps"};
  std::vector<VariantValue> values;
  for (const char* variant : {"rope", "crope_qk", "crope_qkv", "crope_all", "half_rope_qk", "half_rope_all"}) {
    const double offset = 0.02 * double(values.size());
    losses.curves.push_back({.label = variant,
                             .variant = variant,
                             .whole = {{1, 9}, {100, 5 + offset}, {500, 4 + offset}, {600, 3 + offset}},
                             .whole_range = {{1, 8, 10}, {100, 4.9, 5.2}, {500, 3.9, 4.2}, {600, 2.9, 3.2}},
                             .end = {{400, 4.2 + offset}, {500, 4 + offset}, {600, 3 + offset}},
                             .end_range = {{400, 4.1, 4.4}, {500, 3.9, 4.2}, {600, 2.9, 3.2}}});
    values.push_back({.label = variant,
                      .variant = variant,
                      .mean = 0.33 - offset / 10,
                      .margin = 0.002,
                      .values = {0.329, 0.331},
                      .detail = "−25%"});
  }
  std::vector<Figure> figures = {loss_figure(losses), loss_difference_figure(values, {"a note"}),
                                 throughput_figure(values)};
  figures.push_back(downstream_figure({.task = "hellaswag", .title = "HellaSwag", .chance = 0.25}, values));
  figures.push_back(downstream_figure({.task = "gsm8k", .title = "GSM8K"}, values));
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
  ASSERT_EQ(figures.size(), 3u + 2 + 2 + 1 + 2);
  for (const Figure& figure : figures) {
    const DrawnFigure drawn = draw(figure, folder.path());
    EXPECT_GT(drawn.svg.size(), 500u) << figure.name;
    EXPECT_FALSE(drawn.alt.empty());
    EXPECT_GT(std::filesystem::file_size(folder / (figure.name + ".png")), 500u);
  }
}

TEST(RunFigures, NormsAreTheirOwnPartOfTheParameterBars) {
  const Figure same = parameter_bars({{"rope", "rope", 1000, 4000, 4950, 50, 0}, {"b", "b", 1000, 4000, 4950, 50, 0}});
  EXPECT_NE(same.commands.find("'norms 0.1k (0.5%)'"), std::string::npos) << same.commands;
  const Figure other = parameter_bars({{"rope", "rope", 0, 0, 0, 35'840, 0}, {"b", "b", 0, 0, 0, 34'816, 0}});
  EXPECT_NE(other.commands.find("'norms 34.8k–35.8k (≤ 100%)'"), std::string::npos);
}

TEST(RunFigures, AnInsetNeedsThreePoints) {
  LossFigure losses{
      .name = "val_loss",
      .end_title = "last 200 steps",
      .curves = {
          {.label = "rope", .variant = "rope", .whole = {{200, 5}, {400, 4}, {600, 3}}, .end = {{400, 4}, {600, 3}}}}};
  EXPECT_EQ(loss_figure(losses).commands.find("last 200 steps"), std::string::npos);
  losses.curves[0].end.insert(losses.curves[0].end.begin() + 1, {500, 3.5});
  EXPECT_NE(loss_figure(losses).commands.find("last 200 steps"), std::string::npos);
}

TEST(RunFigures, NextToNothingIsDrawnToo) {
  const test::TemporaryFolder folder;
  const Points one = {{1, 2}};
  EXPECT_GT(draw(interval_chart({.name = "no_intervals", .title = "t", .reference = 0.5, .reference_text = "r"}),
                 folder.path())
                .svg.size(),
            200u);
  EXPECT_GT(draw(interval_chart({.name = "one_value", .rows = {{.label = "a", .value = 0}}}), folder.path()).svg.size(),
            200u);
  const LossFigure loss{.name = "one_loss", .curves = {{.label = "a", .variant = "rope", .whole = one}}};
  EXPECT_GT(draw(loss_figure(loss), folder.path()).svg.size(), 200u);
  EXPECT_GT(draw(parameter_bars({}), folder.path()).svg.size(), 200u);
}

}  // namespace
}  // namespace crope::report
