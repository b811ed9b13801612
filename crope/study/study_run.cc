#include "crope/study/study_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "crope/base/error.h"
#include "crope/eval/results.h"
#include "crope/formats/jsonl.h"
#include "crope/model/config.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kDefaultWarmup = 50;
constexpr const char* kOtherLoss = "val_loss_";
constexpr double kSameScore = 1e-6;
constexpr const char* kBenchmarks[] = {"hellaswag", "mmlu", "gsm8k"};

const Json* find(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

// NaN where the value is there but no finite number: writers put null, NaN or a string for those.
std::optional<double> number_at(const Json& json, const char* key) {
  const Json* value = find(json, key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(number) ? number : std::numeric_limits<double>::quiet_NaN();
}

std::optional<std::int64_t> integer_at(const Json& json, const char* key) {
  const Json* value = find(json, key);
  return value != nullptr && value->is_number_integer() ? std::optional(value->get<std::int64_t>()) : std::nullopt;
}

Json read_object(const fs::path& path) {
  if (!fs::exists(path)) return nullptr;
  Json json = read_json(path);
  if (!json.is_object()) {
    throw Error(fmt::format("{}: expected a JSON object", path.string()), "remove the folder, or make the run again");
  }
  return json;
}

void take_record(const fs::path& path, StudyRun& run) {
  run.warmup_steps = kDefaultWarmup;
  run.record = read_object(path);
  if (run.record.is_null()) return;
  if (const Json* train = find(run.record, "train")) {
    if (const auto seed = integer_at(*train, "seed"); seed && *seed != run.seed) {
      throw Error(fmt::format("{}: the seed is {}, but the folder's name says {}", path.string(), *seed, run.seed),
                  "a copy of a run is not another seed: remove it, or rename the folder");
    }
    run.planned_steps = integer_at(*train, "steps");
    run.warmup_steps = integer_at(*train, "warmup_steps").value_or(kDefaultWarmup);
  }
  const Json* model = find(run.record, "model");
  if (model == nullptr) return;
  if (const Json* variant = find(*model, "variant"); variant != nullptr && *variant != run.variant) {
    throw Error(fmt::format("{}: the variant is {}, but the folder's name says {}", path.string(), variant->dump(),
                            run.variant),
                "rename the folder");
  }
  try {
    run.parameters = model::count_parameters(model::config_from_json(*model, path.string()));
  } catch (const Error& error) {
    run.warnings.push_back(fmt::format("parameters are not counted: {}", error.what()));
  }
}

// False if the line is not an object with a step.
bool take_metrics_line(std::string_view text, const std::string& origin, StudyRun& run) {
  Json line;
  try {
    line = parse_json(text, origin);
  } catch (const Error&) {
    return false;
  }
  const auto step = integer_at(line, "step");
  if (!step) return false;
  run.last_step = std::max(run.last_step, *step);
  if (const auto loss = number_at(line, "loss")) {
    run.steps.push_back({.step = *step, .loss = *loss, .grad_norm = number_at(line, "grad_norm")});
  }
  if (const auto loss = number_at(line, "val_loss")) run.val_loss = loss;
  for (const auto& [key, value] : line.items()) {
    if (!key.starts_with(kOtherLoss) || !value.is_number()) continue;
    run.other_losses[key.substr(std::string_view(kOtherLoss).size())] = value.get<double>();
  }
  return true;
}

void take_metrics(const fs::path& path, StudyRun& run) {
  if (!fs::exists(path)) {
    run.warnings.push_back(fmt::format("{}: metrics.jsonl is missing", run.name));
    return;
  }
  formats::LineReader lines(formats::InputStream::open(path.string()));
  std::uint64_t damaged = 0, first = 0;
  while (const auto line = lines.next()) {
    if (line->empty()) continue;
    if (!take_metrics_line(*line, path.string(), run) && damaged++ == 0) first = lines.line_number();
  }
  if (damaged > 0) {
    run.warnings.push_back(fmt::format("{}: skipped {} damaged line{} of metrics.jsonl, the first is line {}", run.name,
                                       damaged, damaged == 1 ? "" : "s", first));
  }
}

// "mmlu" of mmlu_anatomy; empty for tasks that no claim is about.
std::string benchmark_of(const std::string& task) {
  for (const char* benchmark : kBenchmarks) {
    if (task == benchmark) return task;
  }
  return task.starts_with("mmlu_") ? "mmlu" : "";
}

void take_items_line(const Json& line, const std::string& place, StudyRun& run) {
  const Json* task = find(line, "task");
  const Json* correct = find(line, "correct");
  if (task == nullptr || !task->is_string() || correct == nullptr || !correct->is_string()) {
    throw Error(fmt::format("{}: expected an object with the strings \"task\" and \"correct\"", place),
                "run 'crope eval' again");
  }
  const std::string name = *task, items = *correct;
  if (items.empty() || items.find_first_not_of("01") != std::string::npos) {
    throw Error(fmt::format("{}: \"correct\" must have one 0 or 1 per item", place), "run 'crope eval' again");
  }
  const std::string benchmark = benchmark_of(name);
  if (benchmark.empty()) return;
  if (!run.scores[benchmark].leaves.emplace(name, items).second) {
    throw Error(fmt::format("{}: the task {} appears twice", place, name), "run 'crope eval' again");
  }
}

void take_items(const fs::path& path, StudyRun& run) {
  if (!fs::exists(path)) return;
  formats::LineReader lines(formats::InputStream::open(path.string()));
  while (const auto line = lines.next()) {
    if (line->empty()) continue;
    const std::string place = fmt::format("{}, line {}", path.string(), lines.line_number());
    take_items_line(parse_json(*line, place), place, run);
  }
}

// Scores from results.json, which must agree with the items; the items alone are enough.
void take_scores(const fs::path& path, StudyRun& run) {
  const Json document = read_object(path);
  const Json* results = find(document, "results");
  for (const char* benchmark : kBenchmarks) {
    const auto found = run.scores.find(benchmark);
    const bool has_items = found != run.scores.end();
    if (has_items) {
      double correct = 0, items = 0;
      for (const auto& [task, leaf] : found->second.leaves) {
        correct += static_cast<double>(std::ranges::count(leaf, '1'));
        items += static_cast<double>(leaf.size());
      }
      found->second.value = correct / items;
    }
    const Json* entry = results == nullptr ? nullptr : find(*results, benchmark);
    if (entry == nullptr) continue;
    const eval::HeadlineMetric metric = eval::headline_metric(benchmark);
    const auto value = number_at(*entry, fmt::format("{},{}", metric.name, metric.filter).c_str());
    if (!value) continue;
    Score& score = run.scores[benchmark];
    score.error = number_at(*entry, fmt::format("{}_stderr,{}", metric.name, metric.filter).c_str());
    if (std::isnan(score.error.value_or(0))) score.error.reset();
    if (std::isnan(*value) || *value < 0 || *value > 1) {
      score.problem = fmt::format("{}/results.json: the score is not between 0 and 1", run.name);
    } else if (has_items && std::abs(*value - score.value) > kSameScore) {
      score.problem = fmt::format("{}: items.jsonl gives {:.4f}, results.json {:.4f}", run.name, score.value, *value);
    }
    if (!has_items) score.value = *value;
  }
}

}  // namespace

StudyRun read_study_run(const fs::path& dir, const std::string& variant, std::int64_t seed) {
  StudyRun run{.name = dir.filename().string(), .variant = variant, .seed = seed};
  take_record(dir / "run.json", run);
  take_metrics(dir / "metrics.jsonl", run);
  take_items(dir / "items.jsonl", run);
  take_scores(dir / "results.json", run);
  return run;
}

}  // namespace crope::study
