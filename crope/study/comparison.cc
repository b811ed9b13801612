#include "crope/study/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "crope/base/error.h"
#include "crope/model/variant.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr double kLevel95 = 0.95;

bool is_variant(const std::string& name) {
  return std::ranges::any_of(model::kVariants, [&](const model::VariantTraits& row) { return row.name == name; });
}

std::optional<double> loss_on(const StudyRun& run, const std::string& text) {
  if (text.empty()) return run.val_loss;
  const auto found = run.other_losses.find(text);
  return found == run.other_losses.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::int64_t, double> losses_by_seed(const RunSet& set, const std::string& text) {
  std::map<std::int64_t, double> losses;
  for (const StudyRun& run : set.runs) {
    if (const auto loss = loss_on(run, text)) losses[run.seed] = *loss;
  }
  return losses;
}

SampleSummary summarize_losses(const std::map<std::int64_t, double>& losses) {
  std::vector<double> values;
  for (const auto& [seed, loss] : losses) values.push_back(loss);
  return summarize(values);
}

std::optional<Interval> interval_of(const SampleSummary& sample) {
  return sample.size < 2 ? std::nullopt : std::optional(student_interval(sample, kLevel95));
}

void add_difference(ComparisonRow& row, const std::map<std::int64_t, double>& losses,
                    const std::map<std::int64_t, double>& baseline) {
  std::vector<double> differences;
  for (const auto& [seed, loss] : losses) {
    const auto other = baseline.find(seed);
    if (other != baseline.end()) differences.push_back(loss - other->second);
  }
  if (differences.empty()) return;
  row.difference = summarize(differences);
  row.difference_interval = interval_of(*row.difference);
  if (differences.size() < 2) return;
  const double error = row.difference->standard_error();
  const double t = error > 0 ? row.difference->mean / error : (row.difference->mean == 0 ? 0 : INFINITY);
  row.p = student_t_two_sided_p(t, static_cast<double>(differences.size() - 1));
}

std::string fingerprint_of(const StudyRun& run) {
  if (!run.record.is_object() || !run.record.contains("data") || !run.record["data"].is_object()) return {};
  return run.record["data"].value("fingerprint", "");
}

void check_same_data(const std::vector<RunSet>& sets) {
  std::string first, label;
  for (const RunSet& set : sets) {
    for (const StudyRun& run : set.runs) {
      const std::string fingerprint = fingerprint_of(run);
      if (fingerprint.empty()) continue;
      if (first.empty()) {
        first = fingerprint;
        label = set.label;
      }
      if (fingerprint == first) continue;
      throw Error(fmt::format("{} and {} were trained on different data (fingerprints {} and {})", label, set.label,
                              first, fingerprint),
                  "compare runs of one data directory");
    }
  }
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json(nullptr);
}

}  // namespace

std::vector<RunSet> read_run_sets(const std::string& argument, std::vector<std::string>& warnings) {
  const std::size_t equals = argument.find('=');
  const std::string label = equals == std::string::npos ? "" : argument.substr(0, equals);
  const fs::path path = fs::path(equals == std::string::npos ? argument : argument.substr(equals + 1)) / "";
  const fs::path folder = path.parent_path();
  const bool is_set = is_variant(folder.filename().string()) && !fs::exists(folder);
  const Study study = read_study(is_set ? folder.parent_path() : folder);
  warnings.insert(warnings.end(), study.warnings.begin(), study.warnings.end());
  std::vector<RunSet> sets = run_sets(study);
  if (is_set) std::erase_if(sets, [&](const RunSet& set) { return set.label != folder.filename(); });
  if (sets.empty()) {
    throw Error(
        fmt::format("{}: no finished runs {}_<seed> there", folder.parent_path().string(), folder.filename().string()),
        "give STUDY/VARIANT, or STUDY for all its variants");
  }
  if (!label.empty() && sets.size() > 1) {
    throw UsageError(fmt::format("{}: the label '{}' would name {} variants", folder.string(), label, sets.size()),
                     "give LABEL=STUDY/VARIANT");
  }
  if (!label.empty()) sets.front().label = label;
  return sets;
}

std::vector<RunSet> run_sets(const Study& study) {
  std::vector<RunSet> sets;
  for (const StudyRun& run : study.runs) {
    if (sets.empty() || sets.back().label != run.variant) sets.push_back({.label = run.variant, .runs = {}});
    sets.back().runs.push_back(run);
  }
  return sets;
}

std::vector<ComparedText> compare_sets(const std::vector<RunSet>& sets) {
  check_same_data(sets);
  std::set<std::string> names = {""};
  for (const RunSet& set : sets) {
    for (const StudyRun& run : set.runs) {
      for (const auto& [name, loss] : run.other_losses) names.insert(name);
    }
  }
  std::vector<ComparedText> texts;
  for (const std::string& name : names) {
    ComparedText text{.name = name, .rows = {}};
    const auto baseline = losses_by_seed(sets.front(), name);
    for (const RunSet& set : sets) {
      const auto losses = losses_by_seed(set, name);
      if (losses.empty()) continue;
      const SampleSummary loss = summarize_losses(losses);
      ComparisonRow row{.label = set.label, .loss = loss, .loss_interval = interval_of(loss)};
      if (const auto& counts = set.runs.front().parameters) row.parameters = counts->total();
      if (&set != &sets.front()) add_difference(row, losses, baseline);
      text.rows.push_back(std::move(row));
    }
    if (!text.rows.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

Json comparison_to_json(const std::vector<ComparedText>& texts) {
  Json rows = Json::array();
  for (const ComparedText& text : texts) {
    for (const ComparisonRow& row : text.rows) {
      rows.push_back({{"text", text.name.empty() ? "validation" : text.name},
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
