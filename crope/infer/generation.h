// Texts that continue prompts, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/infer/engine.h"
#include "crope/infer/token_text.h"
#include "crope/text/tokenizer.h"

namespace crope::infer {

struct GenerationRequest {
  std::vector<std::int32_t> prompt;  // not empty, at most max_seq_len tokens
  std::int64_t max_tokens = 0;
  SamplingOptions sampling;                   // greedy unless set
  std::vector<std::string> stop = {};         // the text ends before the first of these
  std::vector<std::int32_t> end_tokens = {};  // each of them ends the text
};

struct Generation {
  std::vector<std::int32_t> ids;  // all new tokens, with the end token and the tokens of the stop string
  std::string text;               // valid UTF-8, without stop string and special tokens; "" without a tokenizer
  FinishReason finish = FinishReason::none;
};

struct GenerationCallbacks {
  // A new token of a request, with the text that became certain by it: whole characters, possibly none.
  std::function<void(std::size_t index, std::int32_t id, std::string_view text)> on_token = {};
  // A request is done. Its text is what on_token was told.
  std::function<void(std::size_t index, const Generation& generation)> on_done = {};
};

struct GenerationOptions {
  EngineOptions engine = {};
  std::int64_t batch_size = 16;  // sequences at once; the others wait
};

// Runs all requests on the model, `batch_size` at a time, each from its prompt to its end. What a sequence gets does
// not depend on the others. `tokenizer` may be null: then there is no text, and no stop strings. Tokens that the
// tokenizer does not have (a padded vocabulary) have no text. Callbacks may throw to end the work.
// Throws UsageError naming the request that makes no sense.
void generate(const model::Transformer& model, const text::Tokenizer* tokenizer,
              std::span<const GenerationRequest> requests, const GenerationOptions& options,
              const GenerationCallbacks& callbacks);

// generate() on an engine of the caller's, which shares what earlier calls computed. REQUIRES: the engine is idle.
void generate(Engine& engine, const text::Tokenizer* tokenizer, std::span<const GenerationRequest> requests,
              const GenerationOptions& options, const GenerationCallbacks& callbacks);

}  // namespace crope::infer
