#include "crope/study/report_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crope/base/progress.h"
#include "crope/study/benchmarks.h"
#include "crope/study/seed_statistics.h"

namespace crope::study {
namespace {

using report::Benchmark;
using report::RunData;
using report::VariantValue;

constexpr const char* kNothing = "–";

std::string fixed(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : kNothing;
}

std::string with_margin(const std::optional<VariantValue>& value, int digits) {
  if (!value) return kNothing;
  const std::string mean = fmt::format("{:.{}f}", value->mean, digits);
  return value->margin ? fmt::format("{} ± {:.{}f}", mean, *value->margin, digits) : mean;
}

std::string steps_of(const RunData& run) {
  return run.train_loss.empty() ? kNothing : fmt::format("{:.0f}", run.train_loss.back().first);
}

std::string tokens_of(const RunData& run) {
  return run.tokens > 0 ? format_count(run.tokens) : kNothing;
}

std::string rate_text(const std::optional<double>& rate) {
  return rate ? format_count(*rate) : kNothing;
}

// "seed 0", "seeds 0, 1, 2"
std::string seeds_of(const SeedGroup& group) {
  std::vector<std::int64_t> seeds;
  for (const RunData* run : group.runs) {
    if (run->seed) seeds.push_back(*run->seed);
  }
  return seeds.empty() ? "" : fmt::format("seed{} {}", seeds.size() == 1 ? "" : "s", fmt::join(seeds, ", "));
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

std::vector<const Benchmark*> measured_benchmarks(const std::vector<const RunData*>& runs) {
  std::vector<const Benchmark*> found;
  for (const Benchmark& benchmark : benchmarks()) {
    if (std::ranges::any_of(runs, [&](const RunData* run) { return report::find_score(*run, benchmark).has_value(); }))
      found.push_back(&benchmark);
  }
  return found;
}

}  // namespace

report::Table variant_table(const std::vector<SeedGroup>& groups, const std::vector<report::ParameterBar>& bars) {
  const bool has_seeds = most_seeds(groups) > 1;
  std::vector<const RunData*> runs;
  for (const SeedGroup& group : groups) runs.insert(runs.end(), group.runs.begin(), group.runs.end());
  const std::vector<const Benchmark*> benchmarks = measured_benchmarks(runs);
  report::Table table{.columns = {has_seeds ? "variant" : "run"}};
  if (has_seeds) table.columns.emplace_back("seeds");
  for (const char* column : {"parameters", "steps", "tokens", "training loss", "validation loss"})
    table.columns.emplace_back(column);
  for (const Benchmark* benchmark : benchmarks) table.columns.emplace_back(benchmark->task);
  table.columns.emplace_back("tokens/s");
  for (const SeedGroup& group : groups) {
    const auto bar = std::ranges::find(bars, group.label, &report::ParameterBar::label);
    std::vector<std::string> row = {group.label};
    if (has_seeds) row.push_back(std::to_string(group.runs.size()));
    row.push_back(bar == bars.end() ? kNothing : format_grouped(bar->total()));
    row.push_back(steps_of(*group.runs.front()));
    row.push_back(tokens_of(*group.runs.front()));
    row.push_back(with_margin(over_seeds(group, report::final_train_loss), 4));
    row.push_back(with_margin(over_seeds(group, report::final_val_loss), 4));
    for (const Benchmark* benchmark : benchmarks) row.push_back(with_margin(score_over_seeds(group, *benchmark), 3));
    const auto rate = over_seeds(group, report::median_rate);
    row.push_back(rate ? format_count(rate->mean) : kNothing);
    table.rows.push_back(std::move(row));
  }
  table.caption =
      "Training loss is the mean of the last 200 steps, validation loss the last one measured. Numbers after ± are "
      "half "
      "of a 95% interval: ";
  table.caption += has_seeds ? "by Student's t over the seeds, or for a single run 1.96 standard errors over the "
                               "benchmark's items."
                             : "1.96 standard errors over the benchmark's items.";
  return table;
}

report::Table run_table(const std::vector<RunData>& runs) {
  std::vector<const RunData*> all;
  for (const RunData& run : runs) all.push_back(&run);
  const std::vector<const Benchmark*> benchmarks = measured_benchmarks(all);
  report::Table table{.columns = {"run", "seed", "steps", "training loss", "validation loss"},
                      .summary = fmt::format("All {} runs", runs.size())};
  for (const Benchmark* benchmark : benchmarks) table.columns.emplace_back(benchmark->task);
  table.columns.emplace_back("tokens/s");
  for (const RunData& run : runs) {
    std::vector<std::string> row = {run.label, run.seed ? std::to_string(*run.seed) : kNothing, steps_of(run),
                                    fixed(report::final_train_loss(run), 4), fixed(report::final_val_loss(run), 4)};
    for (const Benchmark* benchmark : benchmarks) {
      const auto score = report::find_score(run, *benchmark);
      row.push_back(score ? fmt::format("{:.3f}", score->value) : kNothing);
    }
    row.push_back(rate_text(report::median_rate(run)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table parameter_table(const std::vector<report::ParameterBar>& bars) {
  report::Table table{
      .columns = {"variant", "embedding", "attention", "feed-forward", "norms", "total", "attention saved"}};
  for (const report::ParameterBar& bar : bars) {
    table.rows.push_back({bar.label, format_grouped(bar.embedding), format_grouped(bar.attention),
                          format_grouped(bar.feed_forward), format_grouped(bar.norm), format_grouped(bar.total()),
                          fmt::format("{:.1f}%", 100 * bar.attention_saving)});
  }
  return table;
}

std::string missing_parts(const std::vector<RunData>& runs) {
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

report::Section configuration_section(const std::vector<SeedGroup>& groups) {
  report::Section section{.id = "configuration", .title = "Configuration and commands"};
  std::string commands;
  for (const SeedGroup& group : groups) {
    const std::string command = command_of(group.runs.front()->run);
    // The runs of a study may share one command.
    if (!command.empty() && ("\n" + commands).find("\n" + command + "\n") == std::string::npos)
      commands += command + "\n";
  }
  if (!commands.empty()) section.blocks.emplace_back(report::Listing{commands, ""});
  if (most_seeds(groups) > 1) {
    section.blocks.emplace_back(report::Prose{
        "Commands and files are those of each variant's first seed. Its other runs have the same settings."});
  }
  for (const SeedGroup& group : groups) {
    const RunData& run = *group.runs.front();
    const std::string seeds = group.runs.size() > 1 ? ", " + seeds_of(group) : "";
    if (!run.run.is_null())
      section.blocks.emplace_back(
          report::Listing{run.run.dump(2), fmt::format("`run.json` of {}{}", group.label, seeds)});
    else if (!run.model.is_null())
      section.blocks.emplace_back(
          report::Listing{run.model.dump(2), fmt::format("`config.json` of {}{}", group.label, seeds)});
  }
  return section;
}

}  // namespace crope::study
