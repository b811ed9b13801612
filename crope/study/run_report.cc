#include "crope/study/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/progress.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/report/run_data.h"
#include "crope/report/run_figures.h"
#include "crope/study/examples.h"
#include "crope/study/model_report.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

using report::DrawnFigure;
using report::Figure;
using report::RunData;
using report::Section;

std::vector<DrawnFigure> draw_all(const std::vector<Figure>& figures, const fs::path& dir) {
  std::vector<DrawnFigure> drawn;
  for (const Figure& figure : figures) drawn.push_back(report::draw(figure, dir));
  return drawn;
}

std::string fixed(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

// 168,989,696
std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3)
    digits.insert(static_cast<std::size_t>(place), ",");
  return digits;
}

// The runs whose configuration can be read, counted.
std::vector<report::ParameterBar> count_runs(const std::vector<RunData>& runs, Log& log) {
  std::vector<report::ParameterBar> bars;
  for (const RunData& run : runs) {
    if (!run.model.is_object()) continue;
    try {
      const model::ModelConfig config = model::config_from_json(run.model, run.dir.string());
      const model::ParameterCounts counts = model::count_parameters(config);
      bars.push_back({run.label, run.variant, counts.embedding, counts.attention, counts.feed_forward, counts.norm,
                      model::attention_saving(config)});
    } catch (const Error& error) {
      log.warn(fmt::format("{}: parameters are not counted: {}", run.dir.string(), error.what()));
    }
  }
  return bars;
}

// What is missing, a paragraph each, with all the runs in which it is.
std::string all_notes(const std::vector<RunData>& runs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;  // and where
  for (const RunData& run : runs) {
    for (const std::string& note : run.notes) {
      auto found = std::ranges::find(notes, note, [](const auto& entry) { return entry.first; });
      if (found == notes.end()) found = notes.insert(notes.end(), {note, {}});
      found->second.push_back(fmt::format("`{}`", run.dir.string()));
    }
  }
  std::string text;
  for (const auto& [note, where] : notes) text += fmt::format("{}: {}.\n\n", fmt::join(where, ", "), note);
  return text;
}

Section overview_section(const std::vector<RunData>& runs, const std::vector<report::ParameterBar>& bars) {
  report::Table table{.columns = {"run", "parameters", "steps", "tokens", "training loss", "validation loss"}};
  for (const report::Benchmark& benchmark : report::kBenchmarks) {
    if (std::ranges::any_of(runs, [&](const RunData& run) { return report::find_score(run, benchmark).has_value(); }))
      table.columns.emplace_back(benchmark.task);
  }
  table.columns.emplace_back("tokens/s");
  for (const RunData& run : runs) {
    const auto bar = std::ranges::find(bars, run.label, &report::ParameterBar::label);
    std::vector<std::string> row = {run.label,
                                    bar == bars.end() ? "–" : grouped(bar->total()),
                                    run.train_loss.empty() ? "–" : fmt::format("{:.0f}", run.train_loss.back().first),
                                    run.tokens > 0 ? format_count(run.tokens) : "–",
                                    fixed(report::final_train_loss(run), 4),
                                    fixed(report::final_val_loss(run), 4)};
    for (const report::Benchmark& benchmark : report::kBenchmarks) {
      if (std::ranges::find(table.columns, benchmark.task) == table.columns.end()) continue;
      const auto score = report::find_score(run, benchmark);
      row.push_back(score ? fmt::format("{:.3f} ± {:.3f}", score->value, score->error) : "–");
    }
    const auto rate = report::median_rate(run);
    row.push_back(rate ? format_count(*rate) : "–");
    table.rows.push_back(std::move(row));
  }
  table.caption =
      "Training loss is the mean of the last 200 steps, validation loss the last one measured; benchmarks with their "
      "standard errors.";
  Section section{.id = "overview", .title = "Overview", .blocks = {table}};
  const std::string notes = all_notes(runs);
  if (!notes.empty()) section.blocks.emplace_back(report::Prose{"Left out:\n\n" + notes});
  return section;
}

Section parameter_section(const std::vector<report::ParameterBar>& bars, const fs::path& dir) {
  Section section{.id = "parameters", .title = "Which parameters go"};
  section.blocks.emplace_back(
      report::FigureRow{draw_all(report::parameter_schematic(), dir),
                        "One projection at D = 4 (Figure nparams). CRoPE makes every 2×2 block a complex number: the "
                        "embedding has the same size, the matrix half the parameters."});
  if (bars.empty()) return section;
  section.blocks.emplace_back(report::FigureRow{{report::draw(report::parameter_bars(bars), dir)},
                                                "Parameters of each run (Figure param_counts). Only attention differs.",
                                                460});
  report::Table table{
      .columns = {"run", "embedding", "attention", "feed-forward", "norms", "total", "attention saved"}};
  for (const report::ParameterBar& bar : bars) {
    table.rows.push_back({bar.label, grouped(bar.embedding), grouped(bar.attention), grouped(bar.feed_forward),
                          grouped(bar.norm), grouped(bar.total()), fmt::format("{:.1f}%", 100 * bar.attention_saving)});
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

// Sections that need figures of the runs; none where there is nothing to show.
void append_run_sections(const std::vector<RunData>& runs, const fs::path& dir, std::vector<Section>& sections) {
  auto losses = draw_all(report::loss_figures(runs), dir);
  if (!losses.empty()) {
    sections.push_back(
        {.id = "loss",
         .title = "Training and validation loss",
         .blocks = {report::FigureRow{std::move(losses),
                                      "Solid lines are complex-linear, dashed ones dense; models with equally many "
                                      "parameters share a colour (Figure "
                                      "train_val_loss). Insets enlarge the end; training loss is smoothed."}}});
  }
  auto benchmarks = draw_all(report::downstream_figures(runs), dir);
  if (!benchmarks.empty()) {
    sections.push_back({.id = "downstream",
                        .title = "Benchmarks",
                        .blocks = {report::FigureRow{std::move(benchmarks),
                                                     "Bars with standard errors, from each run's `results.json` "
                                                     "(Figure downstream). Filled bars are complex-linear, hollow "
                                                     "ones dense; colours as above.",
                                                     340}}});
  }
  auto rates = draw_all(report::throughput_figures(runs), dir);
  if (!rates.empty()) {
    sections.push_back(
        {.id = "throughput",
         .title = "Throughput",
         .blocks = {report::FigureRow{
             std::move(rates),
             "Median over the steps after the first tenth, optimiser included, validation and checkpoints not.",
             460}}});
  }
}

std::vector<NamedAnalysis> analyze_runs(const std::vector<RunData>& runs, Log& log) {
  std::vector<NamedAnalysis> analyses;
  for (const RunData& run : runs) {
    try {
      analyses.push_back({run.label, analysis::analyze_model(model::resolve_model_dir(run.dir), log)});
    } catch (const Error& error) {
      log.warn(fmt::format("{}: no function space: {}", run.dir.string(), error.what()));
    }
  }
  return analyses;
}

std::string command_of(const Json& run) {
  const auto command = run.is_object() ? run.find("command") : run.end();
  if (!run.is_object() || command == run.end()) return {};
  if (command->is_string()) return command->get<std::string>();
  std::string words;
  if (command->is_array()) {
    for (const Json& word : *command)
      words += (words.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : word.dump());
  }
  return words;
}

Section configuration_section(const std::vector<RunData>& runs) {
  Section section{.id = "configuration", .title = "Configuration and commands"};
  std::string commands;
  for (const RunData& run : runs) {
    const std::string command = command_of(run.run);
    // A study's runs have one command.
    if (!command.empty() && ("\n" + commands).find("\n" + command + "\n") == std::string::npos) commands += command + "\n";
  }
  if (!commands.empty()) section.blocks.emplace_back(report::Listing{commands, ""});
  for (const RunData& run : runs) {
    if (!run.run.is_null())
      section.blocks.emplace_back(report::Listing{run.run.dump(2), fmt::format("`run.json` of {}", run.label)});
    else if (!run.model.is_null())
      section.blocks.emplace_back(report::Listing{run.model.dump(2), fmt::format("`config.json` of {}", run.label)});
  }
  return section;
}

}  // namespace

fs::path write_report(const std::vector<fs::path>& dirs, const fs::path& out, const ReportOptions& options, Log& log) {
  if (dirs.empty()) throw UsageError("a report of no runs", "give at least one run directory");
  const std::vector<RunData> runs = report::read_runs(dirs);
  make_folder(out);
  const std::vector<report::ParameterBar> bars = count_runs(runs, log);
  std::vector<Section> sections = options.first_sections;
  sections.push_back(overview_section(runs, bars));
  sections.push_back(parameter_section(bars, out));
  append_run_sections(runs, out, sections);
  const std::vector<NamedAnalysis> analyses = analyze_runs(runs, log);
  if (!analyses.empty()) sections.push_back(function_space_section(analyses, out));
  sections.push_back(plane_section(out));
  if (options.examples) {
    const Examples examples = make_examples({.train = options.trained_examples}, log);
    for (Section& section : example_sections(examples, out)) sections.push_back(std::move(section));
  }
  sections.push_back(configuration_section(runs));
  std::string names;
  for (const RunData& run : runs) names += (names.empty() ? "" : ", ") + run.label;
  const fs::path page = out / "index.html";
  write_file(page,
             report::html_page({.title = options.title,
                                .lead = fmt::format("{} run{}: {}.", runs.size(), runs.size() == 1 ? "" : "s", names),
                                .sections = std::move(sections),
                                .footer = "Every number comes from the run directories. Figures are beside this page "
                                          "as SVG and PNG. Made by `crope report`."}));
  return page;
}

}  // namespace crope::study
