// What an evaluation leaves: results.json and samples_<task>.jsonl in the schema of lm_eval's files, and items.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/json.h"
#include "crope/eval/metrics.h"
#include "crope/eval/task_list.h"

namespace crope::eval {

// A task with what came of it.
struct TaskOutcome {
  std::vector<Response> responses;               // of each item
  std::vector<std::vector<ItemResult>> results;  // of each item
  std::vector<Metric> metrics;
};

// REQUIRES: one response for each item, and at least one item.
TaskOutcome make_outcome(const Task& task, std::vector<Response> responses);

// The circumstances that results.json records beside the results.
struct RunFacts {
  std::string model;  // the directory, as given
  std::int64_t parameters = 0;
  std::int64_t max_length = 0;
  std::int64_t batch_tokens = 0;
  std::int64_t limit = 0;  // 0: none
  std::int64_t end_of_text = 0;
  bool add_bos = false;
  double start_time = 0;       // seconds since 1970
  double loading_seconds = 0;  // of the model
  double seconds = 0;          // of everything
  std::string program;         // "crope 0.1.0, ..."
};

// results.json. `outcomes` are those of list.tasks.
Json results_document(const TaskList& list, std::span<const TaskOutcome> outcomes, const RunFacts& facts);

// The lines of samples_<task>.jsonl: one for each item and filter.
std::string sample_lines(const Task& task, const TaskOutcome& outcome);

// The metric by which a task is reported and compared.
struct HeadlineMetric {
  const char* name;    // "acc_norm"
  const char* filter;  // "none", "flexible-extract"
};

// `task` is a task or a group, but not perplexity, which has no right and wrong items.
HeadlineMetric headline_metric(std::string_view task);

// The lines of items.jsonl: for each task {"task", "metric", "correct"}, where `correct` has one character per item, in
// item order: 1 if the headline metric counts the item as right, 0 otherwise. Perplexity has no line.
std::string item_lines(const TaskList& list, std::span<const TaskOutcome> outcomes);

// A line of the table: the paper's metric of a task or group that was asked for.
struct Headline {
  std::string task;
  std::string metric;
  double value = 0;
  std::optional<double> standard_error;
  std::int64_t items = 0;
};

// From results.json: HellaSwag's acc_norm, MMLU's acc, GSM8K's flexible-extract; of perplexity all three.
std::vector<Headline> headlines(const Json& results, std::span<const std::string> names);

}  // namespace crope::eval
