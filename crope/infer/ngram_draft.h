// Guesses the next tokens of a sequence without a second model: what followed the same few tokens earlier in it.
//
// Text that repeats itself or its prompt (code, summaries, lists) is guessed well, other text rarely. Guesses that fail
// make the next ones shorter and rarer, so that text without repetition costs next to nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace crope::infer {

class NgramDraft {
 public:
  // At most `most` tokens at once; 0: never any.
  explicit NgramDraft(std::int64_t most) : most_(most), length_(most) {}

  // Tokens that may follow `ids`, at most `room` of them, possibly none: those behind the latest place whose preceding
  // tokens agree longest with the last ones, at least kShortestContext of them.
  static constexpr std::int64_t kShortestContext = 3;
  std::vector<std::int32_t> guess(std::span<const std::int32_t> ids, std::int64_t room);

  // How many of the guessed tokens were right. To be called after each guess that had any.
  void report(std::int64_t guessed, std::int64_t right);

 private:
  std::int64_t most_;
  std::int64_t length_;        // of the next guess
  std::int64_t failures_ = 0;  // guesses in a row of which nothing was right
  std::int64_t pause_ = 0;     // calls of guess() that are not answered
};

}  // namespace crope::infer
