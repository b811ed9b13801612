#include "crope/infer/token_text.h"

#include <algorithm>

#include "crope/base/error.h"

namespace crope::infer {

TokenText::TokenText(const text::Tokenizer* tokenizer, std::vector<std::string> stop)
    : tokenizer_(tokenizer), stream_(stop) {
  if (tokenizer == nullptr && !stop.empty()) {
    throw UsageError("stop strings need a tokenizer", "put a tokenizer.json beside the model");
  }
}

std::string TokenText::push(std::int32_t id) {
  if (tokenizer_ == nullptr || id < 0 || id >= tokenizer_->vocab_size()) return {};
  const auto& special = tokenizer_->vocabulary().special_tokens;
  if (std::ranges::any_of(special, [&](const auto& token) { return token.id == id; })) return {};
  return stream_.push(tokenizer_->token_bytes(id));
}

TokenText::Piece TokenText::take(const TokenEvent& event) {
  Piece piece{.finish = event.finish};
  if (event.finish != FinishReason::end_token) piece.text = push(event.id);
  if (event.finish != FinishReason::none || stream_.stopped()) piece.text += stream_.finish();
  if (stream_.stopped()) piece.finish = FinishReason::stop;
  return piece;
}

}  // namespace crope::infer
