#include "crope/study/study_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "crope/base/error.h"
#include "crope/eval/task_table.h"
#include "crope/formats/jsonl.h"
#include "crope/model/config.h"
#include "crope/run/metrics.h"
#include "crope/run/run_dir.h"
#include "crope/study/benchmarks.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kDefaultWarmup = 50;
constexpr double kSameScore = 1e-6;

const Json* find(const Json& json, const std::string& key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

// NaN where the value is there but no finite number: writers put null, NaN or a string for those.
std::optional<double> number_at(const Json& json, const std::string& key) {
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
    throw Error(fmt::format("{}: expected a JSON object", path.string()), "run 'crope eval' again");
  }
  return json;
}

// The block "parameters"; nothing unless all of it is there.
std::optional<model::ParameterCounts> recorded_parameters(const Json& record) {
  const Json* block = find(record, "parameters");
  if (block == nullptr) return {};
  const auto embedding = integer_at(*block, "embedding"), attention = integer_at(*block, "attention"),
             feed_forward = integer_at(*block, "feed_forward"), norm = integer_at(*block, "norm");
  if (!embedding || !attention || !feed_forward || !norm) return {};
  return model::ParameterCounts{
      .embedding = *embedding, .attention = *attention, .feed_forward = *feed_forward, .norm = *norm};
}

void take_record(const fs::path& dir, StudyRun& run) {
  const fs::path path = dir / run::kRecordFile;
  run.warmup_steps = kDefaultWarmup;
  run.record = run::read_record(dir);
  if (run.record.is_null()) return;
  run.planned_steps = run::planned_steps(run.record);
  if (const Json* train = find(run.record, "train")) {
    if (const auto seed = integer_at(*train, "seed"); seed && *seed != run.seed) {
      throw Error(fmt::format("{}: the seed is {}, but the folder's name says {}", path.string(), *seed, run.seed),
                  "a copy of a run is not another seed: remove it, or rename the folder");
    }
    run.warmup_steps = integer_at(*train, "warmup_steps").value_or(kDefaultWarmup);
  }
  const Json* model = find(run.record, "model");
  if (model == nullptr) {
    run.parameters = recorded_parameters(run.record);
    return;
  }
  if (const Json* variant = find(*model, "variant"); variant != nullptr && *variant != run.variant) {
    throw Error(fmt::format("{}: the variant is {}, but the folder's name says {}", path.string(), variant->dump(),
                            run.variant),
                "rename the folder");
  }
  try {
    run.parameters = model::count_parameters(model::config_from_json(*model, run::kRecordFile));
  } catch (const Error& error) {
    run.model_problem = error.what();
    run.parameters = recorded_parameters(run.record);
  }
}

void take_metrics(const fs::path& path, StudyRun& run) {
  if (!fs::exists(path)) {
    run.warnings.push_back(fmt::format("{}: {} is missing", run.name, run::kMetricsFile));
    return;
  }
  const run::Metrics metrics = run::read_metrics(path);
  std::map<std::string, LossAtStep> other;
  for (const run::MetricsLine& line : metrics.lines) {
    run.last_step = std::max(run.last_step, line.step);
    if (const auto loss = line.number("loss")) {
      run.steps.push_back({.step = line.step, .loss = *loss, .grad_norm = line.number("grad_norm")});
    }
    if (const auto loss = line.number("val_loss")) run.val_losses.push_back({line.step, *loss});
    for (const auto& [name, loss] : line.other_losses()) other[name] = {line.step, loss};
  }
  if (!run.val_losses.empty()) run.val_loss = run.val_losses.back().loss;
  for (const auto& [name, last] : other) {
    if (run.val_losses.empty() || last.step == run.val_loss_step()) run.other_losses[name] = last.loss;
  }
  if (metrics.damaged > 0) run.warnings.push_back(fmt::format("{}: {}", run.name, metrics.warning()));
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
  const eval::TaskRow* row = eval::find_task(name);  // that of mmlu for mmlu_anatomy
  if (row == nullptr) return;
  if (!run.scores[row->name].leaves.emplace(name, items).second) {
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
  for (const report::Benchmark& benchmark : benchmarks()) {
    const auto found = run.scores.find(benchmark.task);
    const bool has_items = found != run.scores.end();
    if (has_items) {
      double correct = 0, items = 0;
      for (const auto& [task, leaf] : found->second.leaves) {
        correct += static_cast<double>(std::ranges::count(leaf, '1'));
        items += static_cast<double>(leaf.size());
      }
      found->second.value = correct / items;
    }
    const Json* entry = results == nullptr ? nullptr : find(*results, benchmark.task);
    if (entry == nullptr) continue;
    const auto value = number_at(*entry, benchmark.metric);
    if (!value) continue;
    Score& score = run.scores[benchmark.task];
    score.error = number_at(*entry, benchmark.error_metric);
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
  StudyRun run{.name = dir.filename().string(), .dir = dir, .variant = variant, .seed = seed};
  take_record(dir, run);
  take_metrics(dir / run::kMetricsFile, run);
  take_items(dir / run::kItemsFile, run);
  take_scores(dir / run::kResultsFile, run);
  return run;
}

StudyRun read_named_run(const fs::path& dir) {
  const Json record = run::read_record(dir);
  const Json* model = find(record, "model");
  const Json* variant = model == nullptr ? nullptr : find(*model, "variant");
  const Json* train = find(record, "train");
  const auto seed = train == nullptr ? std::nullopt : integer_at(*train, "seed");
  return read_study_run(dir, variant != nullptr && variant->is_string() ? variant->get<std::string>() : "",
                        seed.value_or(0));
}

}  // namespace crope::study
