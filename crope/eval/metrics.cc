#include "crope/eval/metrics.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "crope/base/error.h"
#include "crope/eval/answer_filter.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

// The place of the first maximum; of the first NaN, if there is one (numpy.argmax).
std::int64_t first_maximum(const std::vector<double>& values) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return static_cast<std::int64_t>(i);
    if (values[i] > values[best]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

std::vector<ItemResult> choice_results(const Task& task, const Item& item, const Response& response) {
  ItemResult result;
  for (const MetricId metric : task.metrics) {
    std::vector<double> scores = response.log_likelihoods;
    if (metric == MetricId::acc_norm) {
      for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] /= static_cast<double>(character_count(item.choices[i]));
      }
    }
    result.metrics.push_back({.metric = metric, .value = first_maximum(scores) == item.gold ? 1.0 : 0.0});
  }
  return {std::move(result)};
}

std::vector<ItemResult> last_word_results(const Task& task, const Response& response) {
  ItemResult result;
  for (const MetricId metric : task.metrics) {
    const double is_right = response.is_greedy.at(0) ? 1 : 0;
    result.metrics.push_back(
        {.metric = metric, .value = metric == MetricId::acc ? is_right : response.log_likelihoods.at(0)});
  }
  return {std::move(result)};
}

std::vector<ItemResult> generation_results(const Item& item, const Response& response) {
  std::vector<ItemResult> results;
  for (const auto& [filter, found] : {std::pair(Filter::strict_match, strict_match(response.text)),
                                      std::pair(Filter::flexible_extract, flexible_extract(response.text))}) {
    const double value = exact_match(found, item.target) ? 1.0 : 0.0;
    results.push_back(
        {.filter = filter, .filtered_text = found, .metrics = {{.metric = MetricId::exact_match, .value = value}}});
  }
  return results;
}

std::vector<ItemResult> rolling_results(const Task& task, const Item& item, const Response& response) {
  ItemResult result;
  for (const MetricId metric : task.metrics) {
    const std::size_t weight = metric == MetricId::word_perplexity ? word_count(item.context) : item.context.size();
    result.metrics.push_back(
        {.metric = metric, .value = response.log_likelihoods.at(0), .weight = static_cast<double>(weight)});
  }
  return {std::move(result)};
}

// The sums run in the order of the items, as lm_eval's do: the digits are the same to the last.
void set_average(Metric& metric, const std::vector<ItemMetric>& items) {
  const auto n = static_cast<double>(items.size());
  double sum = 0;
  for (const ItemMetric& item : items) sum += item.value;
  metric.value = sum / n;
  if (items.size() < 2) return;
  double squares = 0;
  for (const ItemMetric& item : items) squares += (item.value - metric.value) * (item.value - metric.value);
  metric.standard_error = std::sqrt(squares / (n - 1)) / std::sqrt(n);
}

void set_weighted(Metric& metric, const std::vector<ItemMetric>& items) {
  double sum = 0, weight = 0;
  for (const ItemMetric& item : items) {
    sum += item.value;
    weight += item.weight;
  }
  const bool in_bits = metric.key.metric == MetricId::bits_per_byte;
  metric.value = in_bits ? -(sum / weight) / std::log(2.0) : std::exp(-(sum / weight));
}

Metric aggregate(const MetricKey& key, const std::vector<ItemMetric>& items) {
  Metric metric{.key = key};
  if (key.metric > MetricId::perplexity) {
    set_weighted(metric, items);
    return metric;
  }
  set_average(metric, items);
  if (key.metric == MetricId::perplexity) {
    metric.value = std::exp(-metric.value);
    if (metric.standard_error) *metric.standard_error *= metric.value;
  }
  return metric;
}

}  // namespace

std::vector<ItemResult> item_results(const Task& task, const Item& item, const Response& response) {
  switch (task.kind) {
    case TaskKind::multiple_choice:
      return choice_results(task, item, response);
    case TaskKind::last_word:
      return last_word_results(task, response);
    case TaskKind::generation:
      return generation_results(item, response);
    case TaskKind::rolling_likelihood:
      return rolling_results(task, item, response);
  }
  throw Error("a task of unknown kind");
}

std::vector<Metric> task_metrics(std::span<const std::vector<ItemResult>> results) {
  std::vector<Metric> metrics;
  for (std::size_t f = 0; f < results.front().size(); ++f) {
    const ItemResult& first = results.front()[f];
    for (std::size_t m = 0; m < first.metrics.size(); ++m) {
      std::vector<ItemMetric> items;
      for (const auto& each : results) items.push_back(each[f].metrics[m]);
      metrics.push_back(aggregate({first.metrics[m].metric, first.filter}, items));
    }
  }
  return metrics;
}

Metric group_metric(std::span<const Member> members) {
  Metric group = members.front().metric;
  double weighted = 0, items = 0, pooled = 0;
  bool all_have_errors = true;
  for (const Member& member : members) {
    const auto n = static_cast<double>(member.items);
    weighted += member.metric.value * n;
    items += n;
    all_have_errors = all_have_errors && member.metric.standard_error.has_value();
    const double error = member.metric.standard_error.value_or(0);
    pooled += (n - 1) * (error * error) * n;
  }
  group.value = weighted / items;
  group.standard_error.reset();
  if (all_have_errors) {
    group.standard_error = std::sqrt(pooled / (items - static_cast<double>(members.size())) / items);
  }
  return group;
}

}  // namespace crope::eval
