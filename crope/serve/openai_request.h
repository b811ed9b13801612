// Requests of OpenAI's API: JSON to plain data, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/json.h"
#include "crope/infer/chat_template.h"
#include "crope/infer/sampler.h"
#include "crope/text/tokenizer.h"

namespace crope::serve {

// The limits that requests are checked against.
struct RequestContext {
  std::int64_t vocab_size = 0;
  std::int64_t window = 0;                     // max_seq_len
  const text::Tokenizer* tokenizer = nullptr;  // may be null: then only token ids are understood
  std::optional<std::int32_t> begin_token;     // what an empty prompt is
  std::int64_t max_choices = 256;              // prompts times n
  std::uint64_t seed = 0;                      // of a request that has none
  const infer::ChatTemplate* chat = nullptr;   // null: the model's template is of no known family
};

struct Prompt {
  std::vector<std::int32_t> ids;  // at least one
  std::string text;               // as it came, or of the ids; "" without a tokenizer
};

struct CompletionRequest {
  std::vector<Prompt> prompts;  // at least one
  std::int64_t n = 1;           // answers to each
  std::int64_t max_tokens = 16;
  infer::SamplingOptions sampling = {.temperature = 1};
  std::vector<std::string> stop;
  std::vector<std::int32_t> end_tokens;  // besides the model's
  std::int64_t logprobs = -1;  // how many of the most likely tokens are reported beside each; below 0: nothing is
  bool echo = false;
  bool ignore_eos = false;
  bool stream = false;
  bool include_usage = false;     // at the end of a stream
  bool return_token_ids = false;  // an extension: ids beside texts
  bool is_chat = false;
};

inline constexpr std::int64_t kMostLogprobs = 20;
// Log-probabilities in one answer: (1 + logprobs) of every token, over all choices. Each takes some 100 bytes.
inline constexpr std::int64_t kMostScores = std::int64_t{1} << 18;
inline constexpr std::size_t kMostStops = 64;
inline constexpr std::int64_t kLongestStop = 4096;  // in characters

struct NumberRange {
  double lowest, highest;
};
inline constexpr NumberRange kTemperatures{0, 100};
inline constexpr NumberRange kProbabilities{0, 1};  // top_p, min_p
inline constexpr NumberRange kRepetitionPenalties{1e-3, 1e3};

// The body of /v1/completions. Null counts as absent; unknown fields are ignored, and those that
// would change the answer but are not supported are refused. Special tokens in a prompt count as such.
// Throws ApiError with status 400, naming the field.
CompletionRequest completion_request(const Json& body, const RequestContext& context);

// The body of /v1/chat/completions: one prompt by the chat template. Special tokens in messages are ordinary text.
CompletionRequest chat_request(const Json& body, const RequestContext& context);

// The body of /tokenize, {"prompt": text, "add_special_tokens": ignored} or {"messages": a conversation}: its ids, with
// special tokens.
std::vector<std::int32_t> tokenize_request(const Json& body, const RequestContext& context);

// The body of /detokenize, {"tokens": ids}. All are tokens of the tokenizer.
std::vector<std::int32_t> detokenize_request(const Json& body, const RequestContext& context);

// A body of JSON that is an object. Throws ApiError with status 400.
Json parse_body(std::string_view body);

}  // namespace crope::serve
