#include "crope/study/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/report/run_data.h"
#include "crope/report/run_figures.h"
#include "crope/run/run_dir.h"
#include "crope/study/benchmarks.h"
#include "crope/study/examples.h"
#include "crope/study/loss_curves.h"
#include "crope/study/model_report.h"
#include "crope/study/report_tables.h"
#include "crope/study/run_folders.h"
#include "crope/study/seed_group.h"
#include "crope/study/seed_statistics.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr int kWideFigure = 460;  // pixels below which it is not made smaller

using report::DrawnFigure;
using report::Figure;
using report::RunData;
using report::Section;

std::vector<DrawnFigure> draw_all(const std::vector<Figure>& figures, const fs::path& dir) {
  std::vector<DrawnFigure> drawn;
  for (const Figure& figure : figures) drawn.push_back(report::draw(figure, dir));
  return drawn;
}

// The groups whose configuration can be read, counted.
std::vector<report::ParameterBar> count_groups(const std::vector<SeedGroup>& groups, Log& log) {
  std::vector<report::ParameterBar> bars;
  for (const SeedGroup& group : groups) {
    const RunData& run = *group.runs.front();
    if (!run.model.is_object()) continue;
    try {
      const model::ModelConfig config = model::config_from_json(run.model, run.dir.string());
      const model::ParameterCounts counts = model::count_parameters(config);
      bars.push_back({group.label, group.variant, counts.embedding, counts.attention, counts.feed_forward, counts.norm,
                      model::attention_saving(config)});
    } catch (const Error& error) {
      log.warn(fmt::format("{}: parameters are not counted: {}", run.dir.string(), error.what()));
    }
  }
  return bars;
}

double saving_of(const std::vector<report::ParameterBar>& bars, const std::string& label) {
  const auto bar = std::ranges::find(bars, label, &report::ParameterBar::label);
  return bar == bars.end() ? 0 : bar->attention_saving;
}

// The difference of validation losses to rope, variants of equal size beside each other; none without pairs.
std::vector<Figure> difference_figures(const std::vector<SeedGroup>& groups,
                                       const std::vector<report::ParameterBar>& bars) {
  std::vector<report::VariantValue> differences = loss_differences(groups);
  if (differences.empty()) return {};
  std::ranges::stable_sort(differences, {}, [&](const auto& each) { return saving_of(bars, each.label); });
  std::size_t fewest = SIZE_MAX, most = 0;
  for (report::VariantValue& each : differences) {
    const double saving = saving_of(bars, each.label);
    if (saving > 0) each.detail = fmt::format("−{:.3g}%", 100 * saving);
    fewest = std::min(fewest, each.values.size());
    most = std::max(most, each.values.size());
  }
  const std::string count = fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
  const std::string how =
      most == 1
          ? "One seed, so there is no interval."
          : fmt::format("Mean over {} seeds with its 95% interval (Student's t); small dots are single seeds.", count);
  return {report::loss_difference_figure(
      differences, {how, "Filled: complex-linear. Hollow: dense. Variants of equal size share a colour."})};
}

Section overview_section(const std::vector<RunData>& runs, const std::vector<SeedGroup>& groups,
                         const std::vector<report::ParameterBar>& bars, const fs::path& dir) {
  Section section{.id = "overview", .title = "Overview"};
  auto differences = draw_all(difference_figures(groups, bars), dir);
  if (!differences.empty()) {
    section.blocks.emplace_back(report::FigureRow{std::move(differences),
                                                  "Final validation loss of each variant minus rope's with the same "
                                                  "seed. Left of the dotted line is better than rope.",
                                                  kWideFigure});
  }
  section.blocks.emplace_back(variant_table(groups, bars));
  if (most_seeds(groups) > 1) section.blocks.emplace_back(run_table(runs));
  const std::string missing = missing_parts(runs);
  if (!missing.empty()) section.blocks.emplace_back(report::Prose{"Omitted:\n\n" + missing});
  return section;
}

Section parameter_section(const std::vector<report::ParameterBar>& bars, const fs::path& dir) {
  Section section{.id = "parameters", .title = "Which parameters are saved"};
  section.blocks.emplace_back(
      report::FigureRow{draw_all(report::parameter_schematic(), dir),
                        "One projection at D = 4 (Figure nparams). CRoPE makes every 2×2 block a complex number: the "
                        "embedding has the same size, the matrix half the parameters."});
  if (bars.empty()) return section;
  section.blocks.emplace_back(report::FigureRow{
      {report::draw(report::parameter_bars(bars), dir)},
      "Parameters of each variant (Figure param_counts), to scale. Attention differs between variants, and so do the "
      "gains of the query and key norms; the legend says how many gains there are.",
      kWideFigure});
  section.blocks.emplace_back(parameter_table(bars));
  return section;
}

std::optional<Section> loss_section(const std::vector<SeedGroup>& groups, const fs::path& dir) {
  std::vector<Figure> figures;
  for (const report::LossFigure& figure : loss_figures(groups)) figures.push_back(report::loss_figure(figure));
  if (figures.empty()) return {};
  std::string caption =
      "Solid lines are complex-linear, dashed ones dense; variants of equal size share a colour (Figure "
      "train_val_loss). Insets enlarge the end. Training loss is smoothed.";
  if (const std::size_t most = most_seeds(groups); most > 1) {
    caption +=
        fmt::format(" Lines are means over up to {} seeds, and bands reach from the lowest to the highest seed.", most);
  }
  return Section{.id = "loss",
                 .title = "Training and validation loss",
                 .blocks = {report::FigureRow{draw_all(figures, dir), caption}}};
}

std::optional<Section> benchmark_section(const std::vector<SeedGroup>& groups, const fs::path& dir) {
  std::vector<Figure> figures;
  bool has_seeds = false, has_single = false;
  for (const report::Benchmark& benchmark : benchmarks()) {
    std::vector<report::VariantValue> scores;
    for (const SeedGroup& group : groups) {
      const auto score = score_over_seeds(group, benchmark);
      if (!score) continue;
      scores.push_back(*score);
      (score->values.size() > 1 ? has_seeds : has_single) = true;
    }
    if (!scores.empty()) figures.push_back(report::downstream_figure(benchmark, scores));
  }
  if (figures.empty()) return {};
  std::string caption = "Scores from each run's `results.json` (Figure downstream).";
  if (has_seeds)
    caption += " Points are means over seeds, bars their 95% intervals by Student's t, small dots single seeds.";
  if (has_single) caption += " Bars of single runs are 95% intervals over the items (1.96 standard errors).";
  caption += " Filled points are complex-linear, hollow ones dense; colours as above. The axes do not begin at zero.";
  return Section{
      .id = "downstream", .title = "Benchmarks", .blocks = {report::FigureRow{draw_all(figures, dir), caption, 340}}};
}

std::optional<Section> throughput_section(const std::vector<SeedGroup>& groups, const fs::path& dir) {
  std::vector<report::VariantValue> rates;
  for (const SeedGroup& group : groups) {
    if (auto rate = over_seeds(group, report::median_rate)) rates.push_back(std::move(*rate));
  }
  if (rates.empty()) return {};
  std::string caption =
      "Median over the steps after the first tenth, with the optimiser, without validation and checkpoints.";
  if (most_seeds(groups) > 1) caption += " Means over seeds.";
  return Section{
      .id = "throughput",
      .title = "Throughput",
      .blocks = {report::FigureRow{{report::draw(report::throughput_figure(rates), dir)}, caption, kWideFigure}}};
}

// Analyzes the first run of each group that has weights.
std::vector<NamedAnalysis> analyze_groups(const std::vector<SeedGroup>& groups, Log& log) {
  std::vector<NamedAnalysis> analyses;
  std::vector<std::string> without;
  for (const SeedGroup& group : groups) {
    const auto has_weights = [](const RunData* run) {
      return fs::exists(run->dir / run::kLatestLink) || fs::exists(run->dir / model::kWeightsFile);
    };
    const auto run = std::ranges::find_if(group.runs, has_weights);
    if (run == group.runs.end()) {
      without.push_back(group.label);
      continue;
    }
    try {
      analyses.push_back({group.label, analysis::analyze_model(model::resolve_model_dir((*run)->dir), log)});
    } catch (const Error& error) {
      log.warn(fmt::format("{}: no function space: {}", (*run)->dir.string(), error.what()));
    }
  }
  if (!without.empty()) {
    log.warn(fmt::format("no checkpoint, so no function space of trained weights: {}", fmt::join(without, ", ")));
  }
  return analyses;
}

// "6 variants, 5 seeds each: rope, …"
std::string lead_of(const std::vector<RunData>& runs, const std::vector<SeedGroup>& groups) {
  std::vector<std::string> names;
  for (const SeedGroup& group : groups) names.push_back(group.label);
  const std::string count = fmt::format("{} run{}", runs.size(), runs.size() == 1 ? "" : "s");
  const std::size_t most = most_seeds(groups);
  if (most == 1) return fmt::format("{}: {}.", count, fmt::join(names, ", "));
  return fmt::format("{} of {} variant{}, up to {} seeds each: {}.", count, groups.size(),
                     groups.size() == 1 ? "" : "s", most, fmt::join(names, ", "));
}

void append(std::vector<Section>& sections, std::optional<Section> section) {
  if (section) sections.push_back(std::move(*section));
}

}  // namespace

fs::path write_report(const std::vector<fs::path>& paths, const fs::path& out, const ReportOptions& options, Log& log) {
  if (paths.empty()) throw UsageError("a report needs at least one run", "give run directories or a study folder");
  std::vector<RunData> runs = report::read_runs(expand_runs(paths));
  const std::vector<SeedGroup> groups = group_by_seed(runs);
  make_folder(out);
  const std::vector<report::ParameterBar> bars = count_groups(groups, log);
  std::vector<Section> sections = options.first_sections;
  sections.push_back(overview_section(runs, groups, bars, out));
  append(sections, loss_section(groups, out));
  append(sections, benchmark_section(groups, out));
  sections.push_back(parameter_section(bars, out));
  append(sections, throughput_section(groups, out));
  const std::vector<NamedAnalysis> analyses = analyze_groups(groups, log);
  if (!analyses.empty()) {
    Section section = function_space_section(analyses, out);
    if (most_seeds(groups) > 1) {
      section.blocks.insert(section.blocks.begin(),
                            report::Prose{"Weights of each variant's first seed that has a checkpoint."});
    }
    sections.push_back(std::move(section));
  }
  sections.push_back(plane_section(out));
  if (options.examples) {
    const Examples examples = make_examples({.train = options.trained_examples}, log);
    for (Section& section : example_sections(examples, out)) sections.push_back(std::move(section));
  }
  if (options.figures_only) return out;
  sections.push_back(configuration_section(groups));
  const fs::path page = out / "index.html";
  write_file(page, report::html_page({.title = options.title,
                                      .lead = lead_of(runs, groups),
                                      .sections = std::move(sections),
                                      .footer = "Every number comes from the run directories. Figures are beside this "
                                                "page as SVG and PNG. Made by `crope report`."}));
  return page;
}

}  // namespace crope::study
