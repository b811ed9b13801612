#include "crope/study/model_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "crope/analysis/plane_geometry.h"
#include "crope/base/file.h"
#include "crope/report/bar_chart.h"
#include "crope/report/line_chart.h"
#include "crope/report/matrix_picture.h"

namespace crope::study {
namespace {

using namespace analysis;
using report::Color;
using report::DrawnFigure;

constexpr std::string_view kProjections = "qkvo";

// Complex-linear parts blue, conjugate-linear ones orange.
struct SigmaStyle {
  std::size_t index;
  const char* label;
  Color color;
};
constexpr std::array<SigmaStyle, 4> kSigmas = {{
    {0, "σ0", Color::blue},
    {2, "σ2", Color::sky},
    {1, "σ1", Color::orange},
    {3, "σ3", Color::amber},
}};

constexpr Color projection_color(char projection) {
  return projection == 'q'   ? Color::blue
         : projection == 'k' ? Color::orange
         : projection == 'v' ? Color::green
                             : Color::purple;
}

std::vector<report::LegendEntry> sigma_legend() {
  std::vector<report::LegendEntry> legend;
  for (const SigmaStyle& sigma : kSigmas)
    legend.push_back({.label = sigma.label, .color = sigma.color, .is_box = true});
  return legend;
}

std::vector<report::StackedPart> sigma_parts(const PauliEnergies& energies) {
  std::vector<report::StackedPart> parts;
  const double total = energies.total();
  for (const SigmaStyle& sigma : kSigmas)
    parts.push_back({total > 0 ? energies.sigma[sigma.index] / total : 0, sigma.color});
  return parts;
}

DrawnFigure energy_chart(const std::string& name, const std::string& title, std::vector<report::StackedBar> bars,
                         const std::filesystem::path& dir) {
  return report::draw(report::stacked_bar_chart({.name = name,
                                                 .title = title,
                                                 .bars = std::move(bars),
                                                 .legend = sigma_legend(),
                                                 .reference = 0.5,
                                                 .x_max = 1,
                                                 .x_format = "%.1f",
                                                 .width = 360}),
                      dir);
}

std::string percent(double share) {
  return fmt::format("{:.2f}%", 100 * share);
}

report::Table summary_table(const std::vector<std::pair<std::string, ProjectionSummary>>& rows,
                            const std::string& caption) {
  report::Table table{.columns = {"model", "projection", "tied", "σ0", "σ1", "σ2", "σ3", "conjugate-linear",
                                  "with gains", "random", "deviations off"},
                      .caption = caption};
  for (const auto& [label, row] : rows) {
    const double total = row.energies.total(), share = row.energies.conjugate_linear_share();
    std::vector<std::string> cells = {label, std::string(1, row.projection), row.tied ? "yes" : "no"};
    for (const double energy : row.energies.sigma) cells.push_back(percent(total > 0 ? energy / total : 0));
    cells.push_back(percent(share));
    cells.push_back(percent(row.effective.conjugate_linear_share()));
    cells.push_back(fmt::format("{} ± {:.2f}%", percent(row.random.mean), 100 * row.random.deviation));
    cells.push_back(row.tied ? "–" : fmt::format("{:+.1f}", (share - row.random.mean) / row.random.deviation));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// The same few vectors in every picture: an arrowed figure that is not its own mirror image.
const std::vector<PlaneVector> kVectors = {{1.0, 0.25}, {0.45, 0.9}, {-0.35, 0.55}};
constexpr std::array kVectorColors = {Color::blue, Color::orange, Color::green};

report::PlanePicture picture_of(const PlaneMap& map, const std::string& name, std::string note) {
  report::PlanePicture picture{.name = name, .title = map.name, .note = std::move(note)};
  const char* const letters[] = {"a", "b", "c"};
  for (std::size_t i = 0; i < kVectors.size(); ++i) {
    picture.arrows.push_back({.x = kVectors[i][0], .y = kVectors[i][1], .color = kVectorColors[i], .faint = true});
  }
  for (std::size_t i = 0; i < kVectors.size(); ++i) {
    picture.arrows.push_back(
        {.x = map.images[i][0], .y = map.images[i][1], .color = kVectorColors[i], .label = letters[i]});
  }
  return picture;
}

std::vector<DrawnFigure> checkpoint_charts(const ModelAnalysis& analysis, const std::filesystem::path& dir) {
  report::LineChart shares{.name = "conjugate_share_by_step",
                           .title = "Conjugate-linear share",
                           .x_label = "step",
                           .y_label = "share of the energy",
                           .reference = 0.5};
  report::LineChart norms{.name = "norm_by_step",
                          .title = "Root mean square of the weights",
                          .x_label = "step",
                          .y_label = "root mean square"};
  for (const char projection : kProjections) {
    report::Series share{.label = std::string(1, projection),
                         .color = projection_color(projection),
                         .marked = analysis.models.size() <= 30},
        norm = share;
    for (const AnalyzedModel& model : analysis.models) {
      for (const ProjectionSummary& row : summarize(model)) {
        if (row.projection != projection) continue;
        double entries = 0;
        for (const ProjectionEnergies& each : model.projections) {
          if (each.projection == projection) entries += static_cast<double>(each.rows * each.columns);
        }
        const auto step = static_cast<double>(model.step.value_or(0));
        share.points.emplace_back(step, row.energies.conjugate_linear_share());
        norm.points.emplace_back(step, std::sqrt(row.energies.total() / entries));
      }
    }
    shares.series.push_back(std::move(share));
    norms.series.push_back(std::move(norm));
  }
  return {report::draw(report::line_chart(shares), dir), report::draw(report::line_chart(norms), dir)};
}

constexpr double kManyDeviations = 3;  // beyond this a share is not that of a random matrix

std::string conclusion_on_tied(const std::vector<ProjectionSummary>& rows) {
  std::vector<char> names;
  double largest = 0;
  for (const ProjectionSummary& row : rows) {
    names.push_back(row.projection);
    largest = std::max(largest, row.effective.conjugate_linear_share());
  }
  return fmt::format(
      "Tied ({}): complex-linear by construction. The gains of the norms around them add at most {:.2f}% "
      "of conjugate-linear energy.\n",
      fmt::join(names, ", "), 100 * largest);
}

std::string conclusion_on_dense(const std::vector<ProjectionSummary>& rows) {
  std::vector<char> names;
  double lowest = 1, highest = 0, distance = 0;
  for (const ProjectionSummary& row : rows) {
    const double share = row.energies.conjugate_linear_share();
    names.push_back(row.projection);
    lowest = std::min(lowest, share);
    highest = std::max(highest, share);
    distance = std::max(distance, std::abs(share - row.random.mean) / row.random.deviation);
  }
  const bool is_random = distance <= kManyDeviations;
  return fmt::format(
      "Dense ({}): {:.1f}% to {:.1f}% of the energy is conjugate-linear, which a tied projection cannot hold. {}\n",
      fmt::join(names, ", "), 100 * lowest, 100 * highest,
      is_random ? "A random matrix has the same share: the model does not use these pairs of coordinates as complex "
                  "numbers."
                : fmt::format("That is up to {:.0f} standard deviations from the 50% of a random matrix.", distance));
}

constexpr const char* kHowToRead =
    "Each 2×2 block of a projection is a sum of σ0, σ1, σ2 and σ3, and the four energies add up to the squared norm of "
    "the matrix. Blue is complex-linear (σ0, σ2), orange conjugate-linear (σ1, σ3: reflections, which CRoPE omits). A "
    "random matrix has half of each, the dotted line. In a dense model nothing ties the coordinates of "
    "the residual stream into pairs, so half is also what one expects of a trained one whose use of reflections is "
    "not special to these pairs; `crope analyze --structure` looks for the pairs that it uses.\n\n"
    "Figures and energies are those of the matrices as stored. The column “with gains” is the conjugate-linear share "
    "of "
    "what the network computes: the gain of the norm before Q, K and V is multiplied into their columns, and the gain "
    "of QK-norm into the rows of every head of Q and K. Where the two gains of a pair differ, a tied projection "
    "becomes "
    "slightly conjugate-linear; with one gain per pair (or none in QK-norm) it stays complex-linear. No norm surrounds "
    "O.";

}  // namespace

std::vector<ProjectionSummary> summarize(const AnalyzedModel& model) {
  std::vector<ProjectionSummary> rows;
  for (const char projection : kProjections) {
    ProjectionSummary row{.projection = projection, .tied = false, .matrices = 0};
    // The share of several matrices is the mean of theirs, weighted by energy.
    double squared_energy = 0, deviation = 0;
    for (const ProjectionEnergies& each : model.projections) {
      if (each.projection != projection) continue;
      ++row.matrices;
      row.tied = each.tied;
      for (std::size_t i = 0; i < 4; ++i) {
        row.energies.sigma[i] += each.energies.sigma[i];
        row.effective.sigma[i] += each.effective.sigma[i];
      }
      squared_energy += each.squared_norm * each.squared_norm;
      deviation = random_share(each.rows, each.columns).deviation;
    }
    if (row.matrices == 0) continue;
    const double total = row.energies.total();
    row.random = {.deviation = total > 0 ? deviation * std::sqrt(squared_energy) / total : deviation};
    rows.push_back(row);
  }
  return rows;
}

std::string conclusion(const AnalyzedModel& model) {
  std::vector<ProjectionSummary> tied, dense;
  for (const ProjectionSummary& row : summarize(model)) (row.tied ? tied : dense).push_back(row);
  return (tied.empty() ? "" : conclusion_on_tied(tied)) + (dense.empty() ? "" : conclusion_on_dense(dense));
}

Json analysis_to_json(const ModelAnalysis& analysis) {
  Json models = Json::array();
  for (const AnalyzedModel& model : analysis.models) {
    Json projections = Json::array();
    for (const ProjectionEnergies& each : model.projections) {
      const RandomShare random = random_share(each.rows, each.columns);
      projections.push_back({{"layer", each.layer},
                             {"projection", std::string(1, each.projection)},
                             {"tied", each.tied},
                             {"rows", each.rows},
                             {"columns", each.columns},
                             {"sigma", each.energies.sigma},
                             {"squared_norm", each.squared_norm},
                             {"conjugate_linear_share", each.energies.conjugate_linear_share()},
                             {"effective",
                              {{"sigma", each.effective.sigma},
                               {"squared_norm", each.effective_squared_norm},
                               {"conjugate_linear_share", each.effective.conjugate_linear_share()}}},
                             {"random_share", {{"mean", random.mean}, {"deviation", random.deviation}}}});
    }
    Json summary = Json::array();
    for (const ProjectionSummary& row : summarize(model)) {
      summary.push_back(
          {{"projection", std::string(1, row.projection)},
           {"tied", row.tied},
           {"sigma", row.energies.sigma},
           {"conjugate_linear_share", row.energies.conjugate_linear_share()},
           {"effective",
            {{"sigma", row.effective.sigma}, {"conjugate_linear_share", row.effective.conjugate_linear_share()}}},
           {"random_share", {{"mean", row.random.mean}, {"deviation", row.random.deviation}}}});
    }
    Json json = {{"directory", model.dir.string()}, {"summary", summary}, {"projections", projections}};
    if (model.step) json["step"] = *model.step;
    models.push_back(std::move(json));
  }
  return {{"config", model::config_to_json(analysis.config)}, {"models", models}};
}

report::Section plane_section(const std::filesystem::path& dir) {
  report::Section section{.id = "plane", .title = "Rotations and reflections"};
  const auto sigmas = sigma_maps(kVectors);
  const char* const notes[] = {"the identity", "mirrors at 45°", "turns by 90°", "mirrors at the x axis"};
  constexpr std::array<std::array<double, 2>, 4> mirrors = {{{0, 0}, {1, 1}, {0, 0}, {1, 0}}};
  std::vector<DrawnFigure> figures;
  for (std::size_t i = 0; i < 4; ++i) {
    report::PlanePicture picture = picture_of(sigmas[i], fmt::format("fspace_sigma{}", i), notes[i]);
    picture.mirror = mirrors[i];
    figures.push_back(report::draw(report::plane_picture(picture), dir));
  }
  section.blocks.emplace_back(
      report::FigureRow{std::move(figures),
                        "Three vectors (faint) and where each part of a 2×2 block takes them (Figure fspace, a). σ0 "
                        "and σ2 keep a, b, c in their order around the origin; "
                        "σ1 and σ3 turn it round.",
                        200});
  const auto maps = maps_to({-0.2, -1.05}, kVectors);
  figures.clear();
  const char* const titles[] = {"σ0 and σ2", "σ1 and σ3"};
  const char* const names[] = {"fspace_rotation", "fspace_reflection"};
  const char* const what[] = {"rotation and scaling", "reflection and scaling"};
  for (std::size_t i = 0; i < 2; ++i) {
    report::PlanePicture picture = picture_of(maps[i], names[i], what[i]);
    picture.title = titles[i];
    figures.push_back(report::draw(report::plane_picture(picture), dir));
  }
  section.blocks.emplace_back(
      report::FigureRow{std::move(figures),
                        "Either kind takes one vector, a, to any place in the plane, here to the same one (Figure "
                        "fspace, b). Where the others go tells them apart: with several "
                        "vectors at once a rotation keeps their order, and no choice of it makes up for a reflection.",
                        200});
  return section;
}

report::Section function_space_section(const ModelAnalysis& analysis, const std::filesystem::path& dir) {
  report::Section section{.id = "function-space", .title = "Function space of the projections"};
  section.blocks.emplace_back(report::Prose{kHowToRead});
  std::vector<DrawnFigure> figures;
  for (const char projection : kProjections) {
    std::vector<report::StackedBar> bars;
    for (const ProjectionEnergies& each : analysis.last().projections) {
      if (each.projection == projection)
        bars.push_back({fmt::format("layer {}", each.layer), sigma_parts(each.energies), ""});
    }
    figures.push_back(energy_chart(fmt::format("energies_{}", projection),
                                   fmt::format("{} projection", static_cast<char>(projection - 'a' + 'A')),
                                   std::move(bars), dir));
  }
  section.blocks.emplace_back(report::FigureRow{std::move(figures), "Shares of the four energies by layer.", 400});
  if (analysis.models.size() > 1) {
    section.blocks.emplace_back(report::FigureRow{
        checkpoint_charts(analysis, dir),
        "Over the checkpoints of the run, layers taken together. The dotted line is a random matrix."});
  }
  std::vector<std::pair<std::string, ProjectionSummary>> rows;
  const std::string name(model::traits(analysis.config.variant).name);
  for (const ProjectionSummary& row : summarize(analysis.last())) rows.emplace_back(name, row);
  section.blocks.emplace_back(summary_table(rows,
                                            "Layers taken together. The last column is how many standard deviations of "
                                            "a random matrix the conjugate-linear share is away from one half."));
  return section;
}

report::Section function_space_section(const std::vector<NamedAnalysis>& analyses, const std::filesystem::path& dir) {
  report::Section section{.id = "function-space", .title = "Function space of the projections"};
  section.blocks.emplace_back(report::Prose{kHowToRead});
  std::vector<DrawnFigure> figures;
  std::vector<std::pair<std::string, ProjectionSummary>> rows;
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    std::vector<report::StackedBar> bars;
    for (const ProjectionSummary& row : summarize(analyses[i].analysis.last())) {
      bars.push_back({std::string(1, static_cast<char>(row.projection - 'a' + 'A')), sigma_parts(row.energies), ""});
      rows.emplace_back(analyses[i].label, row);
    }
    figures.push_back(energy_chart(fmt::format("energies_run{}", i), analyses[i].label, std::move(bars), dir));
  }
  section.blocks.emplace_back(
      report::FigureRow{std::move(figures), "The newest checkpoint of each run, layers taken together.", 300});
  section.blocks.emplace_back(summary_table(rows,
                                            "The last column is how many standard deviations of a random matrix the "
                                            "conjugate-linear share is away from one half."));
  return section;
}

void write_analysis(const ModelAnalysis& analysis, const std::filesystem::path& dir) {
  make_folder(dir);
  write_json(dir / "analysis.json", analysis_to_json(analysis));
  write_file(
      dir / "index.html",
      report::html_page({.title = "Function space",
                         .lead = fmt::format("Function space of the attention projections of `{}`, variant `{}`.",
                                             analysis.last().dir.string(), model::traits(analysis.config.variant).name),
                         .sections = {function_space_section(analysis, dir), plane_section(dir)},
                         .footer = "All numbers are in `analysis.json`. Made by `crope analyze`."}));
}

}  // namespace crope::study
