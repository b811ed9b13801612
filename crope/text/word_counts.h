// How often each word occurs in a body of documents: all that the training of a vocabulary needs to know of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/text/word_index.h"

namespace crope::text {

// Puts the next document into its argument, or gives false when there is none left. Called by one thread at a time.
using DocumentSource = std::function<bool(std::string& document)>;

class WordCounts {
 public:
  WordCounts() = default;
  WordCounts(WordCounts&&) = default;
  WordCounts& operator=(WordCounts&&) = default;

  // Counts the words of a text.
  void add_text(std::string_view text);

  void add_word(std::string_view word, std::int64_t count) {
    counts_[index_of(word, word.data() + word.size())] += count;
  }

  // Words in the order in which they were first seen, and their counts.
  const std::deque<std::string>& words() const { return words_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  std::size_t index_of(std::string_view word, const char* readable_end);

  std::deque<std::string> words_;
  std::vector<std::int64_t> counts_;
  WordIndex places_;  // in words_
};

// Counts the words of all documents on `threads` threads. Special tokens in them are skipped, and end a word.
// The counts do not depend on the number of threads; the order of the words does.
// Throws UsageError if a special token is empty, and whatever next_document throws.
WordCounts count_words(const DocumentSource& next_document, std::span<const std::string> special_tokens, int threads);

}  // namespace crope::text
