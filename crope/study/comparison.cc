#include "crope/study/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/base/progress.h"
#include "crope/model/variant.h"
#include "crope/run/run_dir.h"
#include "crope/study/decision.h"
#include "crope/study/report_tables.h"
#include "crope/study/run_folders.h"
#include "crope/study/seed_pairs.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const model::VariantTraits& row : model::kVariants) names.emplace_back(row.name);
  return names;
}

std::optional<double> loss_on(const StudyRun& run, const std::string& text) {
  if (text.empty()) return run.val_loss;
  const auto found = run.other_losses.find(text);
  return found == run.other_losses.end() ? std::nullopt : std::optional(found->second);
}

// Finite losses; read_study warns of others.
BySeed losses_by_seed(const RunSet& set, const std::string& text) {
  BySeed losses;
  for (const StudyRun& run : set.runs) {
    const auto loss = loss_on(run, text);
    if (loss && std::isfinite(*loss)) losses[run.seed] = *loss;
  }
  return losses;
}

std::vector<double> values_of(const BySeed& losses) {
  std::vector<double> values;
  for (const auto& [seed, loss] : losses) values.push_back(loss);
  return values;
}

double resolution_on(const std::vector<RunSet>& sets, const std::string& text) {
  std::vector<double> all;
  for (const RunSet& set : sets) std::ranges::copy(values_of(losses_by_seed(set, text)), std::back_inserter(all));
  return resolution_of(all);
}

void add_difference(ComparisonRow& row, const BySeed& losses, const BySeed& baseline, double resolution) {
  const std::vector<double> differences = pair_by_seed(baseline, losses).differences();
  if (differences.empty()) return;
  row.difference = summarize(differences);
  if (differences.size() < 2) return;
  const Difference difference = seed_difference(differences, resolution);
  row.difference_interval = interval_95(difference);
  row.p = order_evidence(difference).p;
}

// The fingerprint of an object {"fingerprint": ...}; empty without one.
std::string fingerprint_of(const Json& parent, const std::string& key) {
  const auto found = parent.is_object() ? parent.find(key) : parent.end();
  if (!parent.is_object() || found == parent.end() || !found->is_object()) return {};
  const auto fingerprint = found->find("fingerprint");
  return fingerprint != found->end() && fingerprint->is_string() ? fingerprint->get<std::string>() : std::string();
}

std::string fingerprint_of_text(const StudyRun& run, const std::string& text) {
  if (!run.record.is_object()) return {};
  if (text.empty()) return fingerprint_of(run.record, "data");
  return fingerprint_of(run.record.value("validate_also", Json()), text);
}

// `text` is "" for the training data and its validation part.
void check_same_text(const std::vector<RunSet>& sets, const std::string& text) {
  std::string first, label;
  for (const RunSet& set : sets) {
    for (const StudyRun& run : set.runs) {
      const std::string fingerprint = fingerprint_of_text(run, text);
      if (fingerprint.empty()) continue;
      if (first.empty()) {
        first = fingerprint;
        label = set.label;
      }
      if (fingerprint == first) continue;
      const std::string what = text.empty() ? "were trained on different data"
                                            : fmt::format("were validated on different texts called '{}'", text);
      throw Error(fmt::format("{} and {} {} (fingerprints {} and {})", label, set.label, what, first, fingerprint),
                  text.empty() ? "compare runs of one data directory" : "compare runs with the same --validate-also");
    }
  }
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json(nullptr);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(path, ignored);
}

struct SetArgument {
  std::string label;  // "" without one
  fs::path folder;    // without a slash at its end
};

// A path may have a '=' in it: it is a label only if there is no such path.
SetArgument parse_argument(const std::string& argument) {
  const auto without_slash = [](const fs::path& path) { return (path / "").parent_path(); };
  const fs::path whole = without_slash(argument);
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || is_there(whole) || is_there(whole.parent_path())) return {"", whole};
  return {argument.substr(0, equals), without_slash(argument.substr(equals + 1))};
}

// The folder of `path`, "." for a name alone.
fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Whether the folder stands for STUDY/VARIANT. Throws UsageError where it stands for no known variant.
bool is_variant_of_study(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (is_there(folder)) return false;
  const std::vector<std::string> names = variant_names();
  if (std::ranges::find(names, name) != names.end()) return true;
  if (name.empty() || !fs::is_directory(parent_of(folder)) || runs_below(parent_of(folder)).empty()) return false;
  throw UsageError(fmt::format("{}: unknown variant '{}'", folder.string(), name), suggest(name, names));
}

// The runs that make a set each: the folder itself, or those below it if their names have no seed.
std::vector<fs::path> single_runs(const fs::path& folder) {
  if (!fs::is_directory(folder)) return {};
  const std::vector<fs::path> below = runs_below(folder);
  if (below.empty()) return run::holds_run(folder) ? std::vector{folder} : below;
  const auto has_seed = [](const fs::path& run) { return parse_run_name(run.filename().string()).has_value(); };
  return std::ranges::any_of(below, has_seed) ? std::vector<fs::path>() : expand_runs({folder});
}

void check_label(const std::string& label, const fs::path& folder, std::size_t sets, const char* what) {
  if (label.empty() || sets == 1) return;
  throw UsageError(fmt::format("{}: the label '{}' would name {} {}", folder.string(), label, sets, what),
                   "give one label to each set");
}

void add_warning(const std::string& warning, std::vector<std::string>& warnings) {
  if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
}

}  // namespace

std::vector<RunSet> read_run_sets(const std::string& argument, std::vector<std::string>& warnings) {
  const auto [label, folder] = parse_argument(argument);
  if (const std::vector<fs::path> runs = single_runs(folder); !runs.empty()) {
    check_label(label, folder, runs.size(), "runs");
    std::vector<RunSet> sets;
    for (const fs::path& dir : runs) {
      const StudyRun run = read_named_run(dir);
      for (const std::string& warning : run.warnings) add_warning(warning, warnings);
      sets.push_back({.label = label.empty() ? dir.string() : label, .runs = {run}});
    }
    return sets;
  }
  const std::string name = folder.filename().string();
  const bool is_set = is_variant_of_study(folder);
  const Study study = read_study(is_set ? parent_of(folder) : folder);
  const std::vector<std::string> found = is_set ? warnings_about(study, name) : study.warnings;
  for (const std::string& warning : found) add_warning(warning, warnings);
  std::vector<RunSet> sets = run_sets(study);
  if (is_set) std::erase_if(sets, [&](const RunSet& set) { return set.label != name; });
  if (sets.empty()) {
    throw Error(fmt::format("{}: no finished runs {}_<seed> there", parent_of(folder).string(), is_set ? name : ""),
                "give STUDY/VARIANT, or STUDY for all its variants");
  }
  check_label(label, folder, sets.size(), "variants");
  if (!label.empty()) sets.front().label = label;
  return sets;
}

std::vector<RunSet> run_sets(const Study& study) {
  std::vector<RunSet> sets;
  for (const StudyRun& run : study.runs) {
    if (!run.is_finished) continue;
    if (sets.empty() || sets.back().label != run.variant) sets.push_back({.label = run.variant, .runs = {}});
    sets.back().runs.push_back(run);
  }
  return sets;
}

std::vector<ComparedText> compare_sets(const std::vector<RunSet>& sets) {
  std::set<std::string> names = {""};
  for (const RunSet& set : sets) {
    for (const StudyRun& run : set.runs) {
      for (const auto& [name, loss] : run.other_losses) names.insert(name);
    }
  }
  std::vector<ComparedText> texts;
  for (const std::string& name : names) {
    check_same_text(sets, name);
    ComparedText text{.name = name, .rows = {}};
    const double resolution = resolution_on(sets, name);
    const auto baseline = losses_by_seed(sets.front(), name);
    for (const RunSet& set : sets) {
      const auto losses = losses_by_seed(set, name);
      if (losses.empty()) continue;
      const std::vector<double> values = values_of(losses);
      ComparisonRow row{.label = set.label,
                        .loss = summarize(values),
                        .loss_interval = interval_95(seed_difference(values, resolution))};
      if (const auto& counts = set.runs.front().parameters) row.parameters = counts->total();
      if (&set != &sets.front()) add_difference(row, losses, baseline, resolution);
      text.rows.push_back(std::move(row));
    }
    if (!text.rows.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::string sets_without_losses(const std::vector<RunSet>& sets) {
  std::vector<std::string> labels;
  for (const RunSet& set : sets) {
    if (losses_by_seed(set, "").empty()) labels.push_back(set.label);
  }
  return labels.empty() ? "" : fmt::format("no validation loss: {}", fmt::join(labels, ", "));
}

report::Table overview_of_sets(const std::vector<RunSet>& sets) {
  std::vector<std::vector<report::RunData>> runs;
  for (const RunSet& set : sets) {
    runs.emplace_back();
    for (const StudyRun& run : set.runs) runs.back().push_back(report::read_run(run.dir));
  }
  std::vector<SeedGroup> groups;
  std::vector<report::ParameterBar> bars;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    groups.push_back({.label = sets[i].label, .variant = sets[i].runs.front().variant, .settings = "", .runs = {}});
    for (const report::RunData& run : runs[i]) groups.back().runs.push_back(&run);
    const auto& counts = sets[i].runs.front().parameters;
    if (!counts) continue;
    bars.push_back({.label = sets[i].label,
                    .variant = groups.back().variant,
                    .embedding = counts->embedding,
                    .attention = counts->attention,
                    .feed_forward = counts->feed_forward,
                    .norm = counts->norm,
                    .attention_saving = 0});
  }
  return variant_table(groups, bars);
}

std::string different_steps(const std::vector<RunSet>& sets) {
  std::vector<std::string> ends;
  std::set<std::int64_t> steps;
  for (const RunSet& set : sets) {
    const std::int64_t last = set.runs.front().last_step;
    if (last > 0 && steps.insert(last).second) ends.push_back(fmt::format("{} at {}", set.label, format_grouped(last)));
  }
  if (ends.size() < 2) return "";
  return fmt::format("the sets end at different steps: {}", fmt::join(ends, ", "));
}

Json comparison_to_json(const std::vector<ComparedText>& texts) {
  Json rows = Json::array();
  for (const ComparedText& text : texts) {
    for (const ComparisonRow& row : text.rows) {
      rows.push_back({{"text", text.title()},
                      {"runs", row.label},
                      {"parameters", row.parameters},
                      {"n", row.loss.size},
                      {"loss", row.loss.mean},
                      {"interval", interval_json(row.loss_interval)},
                      {"difference", row.difference ? Json(row.difference->mean) : Json(nullptr)},
                      {"difference_interval", interval_json(row.difference_interval)},
                      {"pairs", row.difference ? row.difference->size : 0},
                      {"p", row.p ? Json(*row.p) : Json(nullptr)}});
    }
  }
  return rows;
}

}  // namespace crope::study
