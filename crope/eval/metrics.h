// From a model's responses to numbers: one item, one task, one group of tasks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/eval/task.h"

namespace crope::eval {

// The answer of the model to an item.
struct Response {
  std::vector<double> log_likelihoods;  // one per text pair; for rolling_likelihood one for the whole text
  std::vector<bool> is_greedy;          // per text pair: whether greedy decoding would give the continuation
  std::string text;                     // of generation
};

// A metric of one item. Most are averages of values; perplexities sum log-likelihoods over weights (words, bytes).
struct ItemMetric {
  MetricId metric = MetricId::acc;
  double value = 0;
  double weight = 1;
};

// The metrics of one item under one filter of the response.
struct ItemResult {
  Filter filter = Filter::none;
  std::string filtered_text = {};  // of generation: what the filter found
  std::vector<ItemMetric> metrics;
};

std::vector<ItemResult> item_results(const Task& task, const Item& item, const Response& response);

// A metric of a task.
struct Metric {
  MetricKey key;
  double value = 0;
  std::optional<double> standard_error = {};  // none where lm_eval has none, or for a single item
};

// The metrics over all items; each entry of `results` has the same filters and metrics. The error of `perplexity`
// is its value times the error of the mean log-likelihood. REQUIRES: at least one item.
std::vector<Metric> task_metrics(std::span<const std::vector<ItemResult>> results);

// The metric of a group: the mean over all items of its tasks, with the pooled standard error.
struct Member {
  Metric metric;
  std::int64_t items = 0;
};
Metric group_metric(std::span<const Member> members);

}  // namespace crope::eval
