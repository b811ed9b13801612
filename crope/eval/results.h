// The files of an evaluation: results.json and samples_<task>.jsonl in the schema of lm_eval, and items.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/eval/metrics.h"
#include "crope/eval/task.h"

namespace crope::eval {

// The outcome of a task.
struct TaskOutcome {
  std::vector<Response> responses;               // of each item
  std::vector<std::vector<ItemResult>> results;  // of each item
  std::vector<Metric> metrics;
};

// REQUIRES: one response for each item, and at least one item.
TaskOutcome make_outcome(const Task& task, std::vector<Response> responses);

// A special token of the model, or none.
struct NamedToken {
  std::int64_t id = -1;
  std::string text = {};
};

// Settings and circumstances that results.json records beside the results.
struct RunFacts {
  std::string model;  // the directory, as given
  std::int64_t parameters = 0;
  std::int64_t max_length = 0;
  std::int64_t batch_tokens = 0;
  std::int64_t limit = 0;  // 0: none
  NamedToken begin_token, end_token;
  bool add_bos = false;
  std::string device = "cpu";
  double start_time = 0;       // seconds since 1970
  double loading_seconds = 0;  // of the model
  double seconds = 0;          // of everything
  std::string program;         // "crope 0.1.0, ..."
  std::string fingerprint;     // of the weights
};

// The objects of results.json that have an entry for each task or group.
inline constexpr const char* kTaskObjects[] = {"results", "group_subtasks",   "configs",  "versions",
                                               "n-shot",  "higher_is_better", "n-samples"};

// results.json. `outcomes` has one entry for each of list.tasks.
Json results_document(const TaskList& list, std::span<const TaskOutcome> outcomes, const RunFacts& facts);

// Computes the entries of all groups in results.json from those of their tasks. Removes groups that miss a task, or
// whose tasks differ in the number of few-shot examples.
void update_groups(Json& document);

// The lines of samples_<task>.jsonl: one for each item and filter.
std::string sample_lines(const Task& task, const TaskOutcome& outcome);

// The rows of items.jsonl: for each task {"task", "metric", "correct"}, where `correct` has one character per item, in
// item order: 1 if the headline metric counts the item as right, 0 otherwise. Tasks without right and wrong items have
// none.
std::vector<Json> item_rows(const TaskList& list, std::span<const TaskOutcome> outcomes);

// A line of the printed table: a headline metric of a task or group.
struct Headline {
  std::string task;
  std::string metric;  // "acc_norm"; the filter's name where there is one
  double value = 0;
  std::optional<double> standard_error;
  std::int64_t items = 0;
};

// The headline metrics of a task or group, from results.json. Empty if it has no such result.
std::vector<Headline> headlines(const Json& results, const std::string& name);

}  // namespace crope::eval
