// What a benchmark asks of a model: documents made into texts, by the rules of lm_eval 0.4.13's task of the same name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crope/base/json.h"

namespace crope::eval {

enum class OutputType { multiple_choice, generate_until, loglikelihood_rolling };

// The name in lm_eval's files.
const char* output_type_name(OutputType type);

// What follows the context is separated from it by this (lm_eval's target_delimiter).
inline constexpr const char* kTargetDelimiter = " ";

// One question.
struct Item {
  Json doc;                          // the document, as sample files show it
  std::string context;               // the prompt; of loglikelihood_rolling the text itself
  std::vector<std::string> choices;  // of multiple_choice, without the delimiter
  std::int64_t gold = 0;             // of multiple_choice: the place of the right choice
  std::string target;                // what is right, as sample files show it; of generate_until the reference
};

struct Task {
  std::string name;   // "mmlu_anatomy"
  std::string alias;  // "anatomy"
  OutputType output_type = OutputType::multiple_choice;
  double version = 1;
  std::int64_t num_fewshot = 0;
  std::vector<std::string> metrics;       // "acc", "acc_norm"; see item_metrics
  std::int64_t document_count = 0;        // before --limit
  std::vector<Item> items;                // document i of the split is item i
  std::vector<std::string> stop;          // of generate_until: where a generation ends
  std::int64_t max_generated_tokens = 0;  // of generate_until
  Json config = Json::object();           // what of it results.json shows
};

struct TaskOptions {
  std::int64_t num_fewshot = 0;
  std::int64_t limit = 0;  // items of each task; 0 takes all
};

}  // namespace crope::eval
