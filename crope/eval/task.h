// The questions that a benchmark asks a model, as texts, by the rules of lm_eval 0.4.13's task of the same name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"

namespace crope::eval {

enum class TaskKind {
  multiple_choice,     // the likeliest of several texts
  last_word,           // likelihood of the one text that follows
  generation,          // a generated text, read by filters
  rolling_likelihood,  // likelihood of a whole text
};

// The output_type in lm_eval's files: "multiple_choice", "loglikelihood", "generate_until", "loglikelihood_rolling".
const char* output_type_name(TaskKind kind);

enum class MetricId { acc, acc_norm, exact_match, perplexity, word_perplexity, byte_perplexity, bits_per_byte };
enum class Filter { none, strict_match, flexible_extract };

// Names in lm_eval's files: "acc_norm", "flexible-extract".
const char* metric_name(MetricId metric);
const char* filter_name(Filter filter);

bool is_higher_better(MetricId metric);

// A metric of a task, computed after one filter.
struct MetricKey {
  MetricId metric = MetricId::acc;
  Filter filter = Filter::none;

  bool operator==(const MetricKey&) const = default;

  std::string value_key() const;  // "acc_norm,none"
  std::string error_key() const;  // "acc_norm_stderr,none"
};

// Between the context and the text that follows it (lm_eval's target_delimiter).
inline constexpr const char* kTargetDelimiter = " ";

// One question.
struct Item {
  Json doc;                                 // the document, as sample files show it
  std::string context;                      // the prompt; of rolling_likelihood the text itself
  std::vector<std::string> choices;         // of multiple_choice, without the delimiter
  std::int64_t gold = 0;                    // of multiple_choice: index of the right choice
  std::optional<std::string> continuation;  // where choices end the context: the text that follows each of them
  std::string target;                       // the right answer, as sample files show it; of generation the reference
};

// A text to score, and the context before it.
struct TextPair {
  std::string context;
  std::string continuation;
};

// The pairs to score for an item of multiple_choice (one for each choice) or last_word (one).
std::vector<TextPair> text_pairs(TaskKind kind, const Item& item);

struct Task {
  std::string name;   // "mmlu_anatomy"
  std::string alias;  // "anatomy"
  TaskKind kind = TaskKind::multiple_choice;
  double version = 1;
  std::int64_t num_fewshot = 0;
  std::vector<MetricId> metrics;
  std::optional<MetricKey> headline;      // decides which items count as right; none where items are not right or wrong
  std::int64_t document_count = 0;        // before the limit
  std::vector<Item> items;                // item i is document i of the split
  std::vector<std::string> stop;          // of generation: texts that end it
  std::int64_t max_generated_tokens = 0;  // of generation
  Json config = Json::object();           // recorded in results.json
};

// Tasks whose items are also counted together.
struct TaskGroup {
  std::string name;                   // "mmlu_stem"
  std::string alias;                  // "stem"
  std::vector<std::string> children;  // names of groups or tasks
};

struct TaskList {
  std::vector<std::string> names;  // as given, each once
  std::vector<Task> tasks;
  std::vector<TaskGroup> groups;  // children before their parents
};

struct TaskOptions {
  std::int64_t num_fewshot = 0;
  std::int64_t limit = 0;  // items of each task; 0 takes all
};

}  // namespace crope::eval
