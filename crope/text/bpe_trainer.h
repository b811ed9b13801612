// The training of a byte-level BPE vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "crope/text/vocabulary.h"
#include "crope/text/word_counts.h"

namespace crope::text {

struct BpeTrainerOptions {
  std::int64_t vocab_size = 0;  // with the special tokens and the 256 bytes
  std::vector<std::string> special_tokens = {std::string(kEndOfText)};
  std::int64_t min_count = 1;  // pairs that occur less often are not merged
  // Called from time to time with the number of tokens so far.
  std::function<void(std::size_t tokens)> on_progress = [](std::size_t) {};
};

// Throws UsageError if vocab_size has no room for the special tokens and the bytes, or is past 2^24, or if a special
// token is empty or appears twice. For callers who want to know before they count.
void check_options(const BpeTrainerOptions& options);

// Ids: the special tokens in their order, the 256 bytes in GPT-2's order, then one token a merge. Each merge joins the
// two neighbours that occur together most often in the words; of equals, the pair of byte strings that is the greatest
// in lexicographical order. So the same words give the same vocabulary, in any order and on any machine.
//
// Two merges may give the same bytes; they share a token then. The vocabulary is smaller than requested when no pair
// is left. Throws what check_options throws.
Vocabulary train_bpe(const WordCounts& words, const BpeTrainerOptions& options);

}  // namespace crope::text
