// Runs the items of tasks through a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/eval/metrics.h"
#include "crope/eval/request_encoding.h"
#include "crope/eval/task.h"
#include "crope/model/transformer.h"
#include "crope/text/tokenizer.h"

namespace crope::eval {

struct RunnerOptions {
  std::int64_t batch_tokens = 4096;   // scored in one pass over the weights
  std::int64_t batch_sequences = 16;  // generated at once
  infer::ScoreEngine engine = infer::ScoreEngine::automatic;
  Prefix prefix = {};
  std::optional<std::int32_t> end_token = {};  // of the model: it ends a generation
  std::filesystem::path journal;               // answers of a killed run, which the next one reuses
  std::string model_name;                      // in the keys of the journal: model_fingerprint()
};

// Largest number of tokens of a generation: the task's own, or half the window where that leaves no room for a
// prompt.
std::int64_t generation_tokens(const Task& task, std::int64_t max_seq_len);

// The responses to all items of each task, in order. Progress goes to `log`. The journal is complete when this returns.
// Throws Error naming the item that does not fit the model, and "interrupted" after a signal.
std::vector<std::vector<Response>> run_tasks(const model::Transformer& model, const text::Tokenizer& tokenizer,
                                             std::span<const Task> tasks, const RunnerOptions& options, Log& log);

}  // namespace crope::eval
