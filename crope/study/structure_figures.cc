#include "crope/study/structure_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/file.h"
#include "crope/report/heat_map.h"
#include "crope/report/line_chart.h"

namespace crope::study {
namespace {

using namespace analysis;
using report::Color;

bool is_single(const StructureOfProjections& of) {
  return of.projections.size() == 1;
}

// The distance from one half that is drawn in full colour: the same for all maps of a model, so that they compare.
double full_colour(const PlacedStructures& model) {
  double largest = 0.05;
  for (const StructureOfProjections& of : model.structures) {
    for (const LayerShare& layer : of.layers) {
      for (const double share : layer.by_frequency) largest = std::max(largest, std::abs(share - 0.5));
    }
  }
  return std::ceil(20 * largest - 1e-9) / 20;
}

constexpr const char* kHowToReadStructure =
    "A complex structure J says which directions of the residual stream are one complex number. A projection is "
    "complex-linear under J where the imaginary row of each of its pairs is J times the real one. Pairs of rows of Q "
    "and K are fixed by their rotary frequency; J is free, and one for all layers. The best J has a closed form, and "
    "any "
    "J gives one half on average.\n\n"
    "The best share is fitted to the weights that it is measured on, so compare it with the column “coin flips”. The "
    "held-out columns need no such correction. V is the control: its rows are not rotated, so nothing pairs them.";

}  // namespace

std::vector<report::DrawnFigure> structure_maps(const PlacedStructures& model, const std::filesystem::path& dir) {
  std::vector<report::DrawnFigure> figures;
  const double full = full_colour(model);
  for (const StructureOfProjections& of : model.structures) {
    if (!is_single(of) || of.layers.empty()) continue;
    const char name = of.projections.front();
    const char letter = static_cast<char>(name - 'a' + 'A');
    report::HeatMap map{
        .name = fmt::format("structure_{}", name),
        .title = fmt::format("{}: {:.0f}% (blue) to {:.0f}% (orange)", letter, 100 * (0.5 - full), 100 * (0.5 + full)),
        .x_label = name == 'v' ? "pair of the head" : "frequency, fastest first",
        .y_label = "layer",
        .alt = fmt::format("Held-out complex-linear share of {} by layer and frequency", letter),
        .width = 380,
        .height = 380};
    for (const LayerShare& layer : of.layers) {
      std::vector<double>& row = map.values.emplace_back();
      for (const double share : layer.by_frequency) row.push_back((share - 0.5) / full);
    }
    figures.push_back(report::draw(report::heat_map(map), dir));
  }
  return figures;
}

std::vector<report::DrawnFigure> structure_curves(const StructureReport& report, const std::filesystem::path& dir) {
  if (report.models.size() < 2 || !report.last().structures.front().held_out) return {};
  report::LineChart chart{.name = "structure_by_step",
                          .title = "Held-out complex-linear share",
                          .x_label = "step",
                          .y_label = "share of the energy",
                          .reference = 0.5};
  for (std::size_t i = 0; i < report.last().structures.size(); ++i) {
    const StructureOfProjections& of = report.last().structures[i];
    if (!is_single(of)) continue;
    const char name = of.projections.front();
    const Color color = name == 'q' ? Color::blue : name == 'k' ? Color::orange : Color::green;
    report::Series all{.label = std::string(1, static_cast<char>(name - 'a' + 'A')),
                       .color = color,
                       .marked = report.models.size() <= 30};
    for (const PlacedStructures& model : report.models) {
      all.points.emplace_back(static_cast<double>(model.place.step.value_or(0)), model.structures[i].held_out->share);
    }
    chart.series.push_back(std::move(all));
  }
  return {report::draw(report::line_chart(chart), dir)};
}

void write_structure(const StructureReport& report, const std::filesystem::path& dir) {
  make_folder(dir);
  write_json(dir / "structure.json", structure_to_json(report));
  report::Section section{.id = "structure", .title = "A shared complex structure"};
  section.blocks.emplace_back(report::Prose{kHowToReadStructure});
  section.blocks.emplace_back(share_table(report.last().structures));
  if (auto maps = structure_maps(report.last(), dir); !maps.empty()) {
    section.blocks.emplace_back(report::FigureRow{
        std::move(maps), "Each layer under the J of the layers of the other parity, by frequency. White is one half."});
  }
  if (auto curves = structure_curves(report, dir); !curves.empty()) {
    section.blocks.emplace_back(
        report::FigureRow{std::move(curves), "J of the even layers on the odd ones, by checkpoint."});
  }
  if (report.text) {
    section.blocks.emplace_back(text_table(*report.text));
    section.blocks.emplace_back(removal_table(*report.text));
  }
  report::Table layers = layer_table(report.last().structures);
  layers.summary = "Every layer";
  section.blocks.emplace_back(std::move(layers));
  write_file(
      dir / "index.html",
      report::html_page({.title = "Shared complex structure",
                         .lead = fmt::format("Which directions of the residual stream are one complex number: `{}`.",
                                             report.last().place.dir.string()),
                         .sections = {std::move(section)},
                         .footer = "All numbers are in `structure.json`. Made by `crope analyze --structure`."}));
}

}  // namespace crope::study
