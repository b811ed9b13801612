// Answers of OpenAI's API: plain data to JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/json.h"
#include "crope/infer/engine.h"
#include "crope/text/tokenizer.h"

namespace crope::serve {

// A token of the prompt or of the answer.
struct TokenRecord {
  std::optional<std::int32_t> id;  // none: a place behind the window, which has an entry and no token
  std::optional<double> log_probability;
  std::vector<infer::TokenProbability> top = {};
};

// A piece of one answer. A whole answer is one such piece.
struct ChoicePiece {
  std::size_t index = 0;
  std::string text;
  std::vector<TokenRecord> tokens;    // of the prompt too, where it is echoed
  std::vector<std::int32_t> new_ids;  // of the answer alone
  std::int64_t text_offset = 0;       // of the first of `tokens`, in characters
  infer::FinishReason finish = infer::FinishReason::none;
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

// The common fields of all pieces of one answer, and how they are written.
struct AnswerStyle {
  std::string id;
  std::string model;
  std::int64_t created = 0;  // Unix time
  bool is_chat = false;
  bool has_logprobs = false;
  bool has_token_ids = false;
  const text::Tokenizer* tokenizer = nullptr;
};

// The name of a token: its text where that is UTF-8, otherwise its bytes as "bytes:\xe2\x80", and
// "token_id:7" of one that the tokenizer does not have. No two tokens have the same.
std::string token_name(std::optional<std::int32_t> id, const text::Tokenizer* tokenizer);

// Characters in UTF-8 text; an incomplete character counts once, where it begins.
std::int64_t count_characters(std::string_view text);

// Characters of a token's own text.
std::int64_t token_characters(std::optional<std::int32_t> id, const text::Tokenizer* tokenizer);

// A whole answer.
Json answer_json(const AnswerStyle& style, std::span<const ChoicePiece> choices, const Usage& usage);

// A part of a streamed answer. `is_first`: of this choice; a chat says the role then.
Json chunk_json(const AnswerStyle& style, const ChoicePiece& piece, bool is_first);

// The last part of a stream with include_usage.
Json usage_chunk_json(const AnswerStyle& style, const Usage& usage);

// "stop" or "length"; null while the answer continues.
Json finish_json(infer::FinishReason reason);

}  // namespace crope::serve
