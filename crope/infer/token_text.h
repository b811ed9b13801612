// The text of a sequence as its tokens come, and the one place that decides where it ends: at an end token, before a
// stop string, or where the engine has no room for more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crope/infer/engine.h"
#include "crope/infer/text_stream.h"
#include "crope/text/tokenizer.h"

namespace crope::infer {

class TokenText {
 public:
  // `tokenizer` may be null: then there is no text. Tokens that it does not have (a padded vocabulary) and special
  // tokens have no text. Throws UsageError for stop strings without a tokenizer, and for empty ones.
  TokenText(const text::Tokenizer* tokenizer, std::vector<std::string> stop);

  struct Piece {
    std::string text;  // what became certain: whole characters, possibly none
    FinishReason finish = FinishReason::none;
  };

  // Takes the next event of the sequence. After a piece with a finish reason nothing more may come; if the reason is
  // `stop` and the event's was `none`, the engine must be told to remove the sequence.
  Piece take(const TokenEvent& event);

  // All text so far, without the stop string.
  const std::string& text() const { return stream_.text(); }

 private:
  std::string push(std::int32_t id);

  const text::Tokenizer* tokenizer_;
  TextStream stream_;
};

}  // namespace crope::infer
