#include "crope/report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "crope/base/error.h"
#include "crope/run/metrics.h"
#include "crope/run/run_dir.h"

namespace crope::report {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kFinalSteps = 200;  // the paper's inset

Json read_or_null(const fs::path& path, std::vector<std::string>& notes) {
  if (!fs::exists(path)) return nullptr;
  try {
    Json json = read_json(path);
    if (json.is_object()) return json;
    notes.push_back(fmt::format("{} is not a JSON object and was skipped", path.filename().string()));
  } catch (const Error& error) {
    notes.push_back(fmt::format("{} was skipped: {}", path.filename().string(), error.what()));
  }
  return nullptr;
}

std::optional<double> number_at(const Json& json, const std::string& key) {
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string string_at(const Json& json, const char* key) {
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The seed in run.json, or else in a folder's name <variant>_<seed>.
std::optional<std::int64_t> seed_of(const RunData& run) {
  if (run.run.is_object() && run.run.contains("train")) {
    const auto seed = number_at(run.run["train"], "seed");
    if (seed) return static_cast<std::int64_t>(*seed);
  }
  const std::string name = folder_name(run.dir), prefix = run.variant + "_";
  if (run.variant.empty() || !name.starts_with(prefix)) return std::nullopt;
  std::int64_t seed = 0;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, seed);
  return error == std::errc() && stop == end ? std::optional(seed) : std::nullopt;
}

void take_metrics(const fs::path& path, RunData& run) {
  const run::Metrics metrics = run::read_metrics(path);
  for (const run::MetricsLine& line : metrics.lines) {
    const auto finite = [&](const char* field) {
      const auto value = line.number(field);
      return value && std::isfinite(*value) ? value : std::nullopt;
    };
    const auto step = static_cast<double>(line.step);
    if (const auto loss = finite("loss")) run.train_loss.emplace_back(step, *loss);
    if (const auto loss = finite("val_loss")) run.val_loss.emplace_back(step, *loss);
    if (const auto rate = finite("tokens_per_second")) run.tokens_per_second.push_back(*rate);
    run.elapsed_seconds = finite("elapsed_s").value_or(run.elapsed_seconds);
    run.tokens = finite("tokens").value_or(run.tokens);
  }
  if (metrics.damaged > 0) run.notes.push_back(metrics.warning());
  const auto by_step = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::ranges::stable_sort(run.train_loss, by_step);
  std::ranges::stable_sort(run.val_loss, by_step);
}

}  // namespace

std::string folder_name(const fs::path& dir) {
  return (dir.has_filename() ? dir : dir.parent_path()).filename().string();
}

RunData read_run(const fs::path& dir) {
  if (!fs::is_directory(dir)) {
    throw Error(fmt::format("{} is not a folder", dir.string()), "give run directories, as 'crope train' makes them");
  }
  RunData run{.dir = dir};
  run.run = read_or_null(dir / run::kRecordFile, run.notes);
  run.results = read_or_null(dir / run::kResultsFile, run.notes);
  const bool has_metrics = fs::exists(dir / run::kMetricsFile);
  if (has_metrics) take_metrics(dir / run::kMetricsFile, run);
  if (run.run.is_object() && run.run.contains("model")) run.model = run.run["model"];
  if (!run.model.is_object()) run.model = read_or_null(dir / run::kLatestLink / "config.json", run.notes);
  if (!run.model.is_object()) run.model = read_or_null(dir / "config.json", run.notes);
  if (run.run.is_null() && !has_metrics && run.results.is_null() && run.model.is_null()) {
    throw Error(fmt::format("{} has none of run.json, metrics.jsonl and results.json", dir.string()),
                "give run directories, as 'crope train' makes them");
  }
  if (run.run.is_null()) run.notes.push_back("there is no run.json: no configuration");
  if (!has_metrics)
    run.notes.push_back("there is no metrics.jsonl: no losses and no throughput");
  else if (run.val_loss.empty())
    run.notes.push_back("metrics.jsonl has no validation losses");
  if (run.results.is_null()) run.notes.push_back("there is no results.json: 'crope eval' makes one");
  run.variant = string_at(run.model, "variant");
  run.seed = seed_of(run);
  run.label = run.variant.empty() ? folder_name(dir) : run.variant;
  return run;
}

std::vector<RunData> read_runs(const std::vector<fs::path>& dirs) {
  std::vector<RunData> runs;
  std::map<std::string, int> count;
  for (const fs::path& dir : dirs) {
    runs.push_back(read_run(dir));
    ++count[runs.back().label];
  }
  std::map<std::string, int> names;
  for (RunData& run : runs) {
    if (count[run.label] == 1) continue;
    const std::string name = folder_name(run.dir);
    const int number = ++names[name];
    run.label = number == 1 ? name : fmt::format("{} ({})", name, number);
  }
  return runs;
}

std::optional<Score> find_score(const RunData& run, const Benchmark& benchmark) {
  if (!run.results.is_object()) return std::nullopt;
  for (const char* table : {"results", "groups"}) {
    const auto found = run.results.find(table);
    if (found == run.results.end() || !found->is_object()) continue;
    const auto task = found->find(benchmark.task);
    if (task == found->end()) continue;
    if (const auto value = number_at(*task, benchmark.metric)) {
      return Score{*value, number_at(*task, benchmark.error_metric).value_or(0)};
    }
  }
  return std::nullopt;
}

std::optional<double> median_rate(const RunData& run) {
  std::vector<double> rates = run.tokens_per_second;
  rates.erase(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 10));
  if (rates.empty()) return std::nullopt;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  return *middle;
}

std::optional<double> final_train_loss(const RunData& run) {
  if (run.train_loss.empty()) return std::nullopt;
  const std::size_t count = std::min(kFinalSteps, run.train_loss.size());
  double sum = 0;
  for (std::size_t i = run.train_loss.size() - count; i < run.train_loss.size(); ++i) sum += run.train_loss[i].second;
  return sum / static_cast<double>(count);
}

std::optional<double> final_val_loss(const RunData& run) {
  return run.val_loss.empty() ? std::nullopt : std::optional(run.val_loss.back().second);
}

}  // namespace crope::report
