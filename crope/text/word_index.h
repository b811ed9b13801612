// Numbers of words: a table that grows with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "crope/text/word_key.h"

namespace crope::text {

// An open-addressing table. A hit is two comparisons in one line of the processor's cache; the bytes of words longer
// than WordKey::kInlineBytes are kept aside. For one thread at a time.
class WordIndex {
 public:
  WordIndex();

  std::optional<std::uint32_t> find(const WordKey& key) const {
    for (std::size_t place = key.hash & mask_;; place = (place + 1) & mask_) {
      const Entry& entry = entries_[place];
      if (entry.size == key.word.size() && entry.low == key.low &&
          (entry.high == key.high || is_long_match(entry, key))) {
        return entry.number;
      }
      if (entry.size == 0) return std::nullopt;
    }
  }

  // REQUIRES: find(key) gave nothing.
  void insert(const WordKey& key, std::uint32_t number);

 private:
  struct Entry {
    std::uint64_t low;
    std::uint64_t high;  // of a long word: where its bytes begin in long_words_
    std::size_t size;    // 0: empty
    std::uint32_t number;
  };

  bool is_long_match(const Entry& entry, const WordKey& key) const {
    return key.is_long() && std::memcmp(long_words_.data() + entry.high, key.word.data(), key.word.size()) == 0;
  }

  void place(const Entry& entry, std::uint64_t hash);
  void grow();

  std::size_t words_ = 0;
  std::size_t mask_;
  std::vector<Entry> entries_;  // at most half full
  std::vector<char> long_words_;
};

}  // namespace crope::text
