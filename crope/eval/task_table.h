// The one list of tasks. Names in --help, files that are looked for, results.json, reports and the table in
// docs/evaluation.md all come from it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/log.h"
#include "crope/eval/benchmark_rows.h"
#include "crope/eval/few_shot.h"
#include "crope/eval/task.h"

namespace crope::eval {

struct TaskRow;

struct LoadRequest {
  const TaskRow& row;
  std::vector<std::string> names;  // the row's name, or other names of its family
  const std::filesystem::path& data;
  std::span<const std::filesystem::path> texts;  // of the task perplexity
  TaskOptions options;
  Log& log;
};

// Splits of a data set, by lm_eval's names.
inline constexpr const char* kTrain = "train";
inline constexpr const char* kValidation = "validation";
inline constexpr const char* kTest = "test";

struct TaskRow {
  const char* name;   // lm_eval's
  const char* title;  // for sentences and figures
  TaskKind kind = TaskKind::multiple_choice;
  double version = 1;
  std::vector<MetricId> metrics;     // in lm_eval's order
  std::vector<MetricKey> headlines;  // the ones that are printed; the first is drawn and compared
  double chance = 0;                 // headline score of guessing; 0: not worth a line
  const char* dataset = "";          // on Hugging Face
  const char* subset = "";           // its configuration, "" for the only one
  const char* split = kTest;         // of the questions
  const char* examples = kTrain;     // split of the few-shot examples, "" where there are none
  ExampleDraw draw = ExampleDraw::random;
  std::vector<const char*> question_files = {};  // names besides those that every task has (benchmark_files.h)
  std::vector<const char*> example_files = {};
  const char* doc_to_text = "";                           // lm_eval's template of the prompt; see fill_template
  std::vector<std::string> stop = {};                     // of generation: texts that end it
  std::int64_t max_generated_tokens = 0;                  // of generation
  Item (*read)(BenchmarkRow&, const TaskRow&) = nullptr;  // a document; may change the row to lm_eval's form of it
  void (*load)(const LoadRequest&, TaskList&) = nullptr;  // load_documents unless given
  std::vector<std::string> (*family)() = nullptr;         // names of its groups and parts

  // Whether items are right or wrong, by the first headline metric.
  bool counts_items() const { return kind != TaskKind::rolling_likelihood; }
};

std::span<const TaskRow> task_table();

// The row of a task, a group or a part of one: "mmlu" for "mmlu_anatomy". Null if there is none.
const TaskRow* find_task(std::string_view name);

// find_task(), but throws UsageError suggesting the nearest name if there is none.
const TaskRow& require_task(std::string_view name);

// The rows' names, in their order, separated by ", ".
std::string task_names();

}  // namespace crope::eval
