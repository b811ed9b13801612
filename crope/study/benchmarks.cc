#include "crope/study/benchmarks.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/eval/task_table.h"

namespace crope::study {
namespace {

const char* describe_metric(const eval::MetricKey& key) {
  if (key.filter == eval::Filter::flexible_extract) return "flexible extract";
  return key.metric == eval::MetricId::acc_norm ? "normalised accuracy" : "accuracy";
}

std::vector<report::Benchmark> make_benchmarks() {
  std::vector<report::Benchmark> all;
  for (const eval::TaskRow& row : eval::task_table()) {
    if (!row.counts_items()) continue;
    const eval::MetricKey& key = row.headlines.front();
    all.push_back({.task = row.name,
                   .name = row.title,
                   .title = fmt::format("{}, {}", row.title, describe_metric(key)),
                   .metric = key.value_key(),
                   .error_metric = key.error_key(),
                   .chance = row.chance});
  }
  return all;
}

}  // namespace

const std::vector<report::Benchmark>& benchmarks() {
  static const std::vector<report::Benchmark> all = make_benchmarks();
  return all;
}

const report::Benchmark& benchmark_by_task(std::string_view task) {
  const auto found = std::ranges::find(benchmarks(), task, &report::Benchmark::task);
  if (found == benchmarks().end()) throw UsageError(fmt::format("no benchmark is called '{}'", task));
  return *found;
}

}  // namespace crope::study
