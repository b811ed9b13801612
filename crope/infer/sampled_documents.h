// Documents that a model writes by itself, as training data for another one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "crope/infer/engine.h"
#include "crope/model/language_model.h"

namespace crope::infer {

struct DocumentOptions {
  std::int64_t count = 1;
  std::int64_t max_tokens = 0;  // of each document; 0: as many as fit the window
  SamplingOptions sampling;     // document i has the seed sampling.seed + i
};

struct DocumentTotals {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t ended = 0;  // documents that an end token ended; the others were cut
};

// Samples documents from the model's begin token on and writes them to `out` as JSON lines, {"text": "..."}, in the
// order of their seeds. The file appears when it is complete. `on_token` is called for every token and may throw.
// Throws UsageError if the model has no tokenizer or no begin token, if `out` exists, or if the options make no sense.
DocumentTotals write_documents(Engine& engine, const model::LanguageModel& model, const DocumentOptions& options,
                               const std::filesystem::path& out, const std::function<void()>& on_token);

}  // namespace crope::infer
