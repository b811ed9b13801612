// Words seen before and their tokens: most of a text is a few thousand words again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>

#include "crope/text/word_key.h"

namespace crope::text {

// An open-addressing table of a fixed size, shared by all threads: what one has merged, no other merges again.
// A hit reads one line of the processor's cache and takes no lock. Words are added and never changed or removed; when
// the table is full, a new one takes its place.
//
// The memory is as large as the fullest table needs from the start, and the system provides it page by page as it is
// used: no word moves, so readers need not wait.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 256;  // longer words are rare and are not kept

  // Throws std::bad_alloc. REQUIRES: most_words > 0.
  explicit WordCache(std::size_t most_words = std::size_t{1} << 17);

  // The tokens of the word, or an empty span. Valid as long as the cache.
  std::span<const std::int32_t> find(const WordKey& key) const {
    for (std::size_t place = key.hash & mask_;; place = (place + 1) & mask_) {
      Entry& entry = entries_[place];
      // Written last: whoever sees it sees the rest.
      const std::uint16_t size = std::atomic_ref(entry.size).load(std::memory_order_acquire);
      if (size == key.word.size() && entry.low == key.low && (entry.high == key.high || is_long_match(entry, key))) {
        return {entry.count <= kInlineIds ? entry.ids : many_ids_.get() + entry.ids[0], entry.count};
      }
      if (size == 0) return {};
    }
  }

  // Keeps the word's tokens, unless it is too long or has been kept by another thread in the meantime. False if the
  // table is full. REQUIRES: ids is not empty.
  bool insert(const WordKey& key, std::span<const std::int32_t> ids);

 private:
  static constexpr std::size_t kInlineIds = 3;

  struct Entry {
    std::uint64_t low;
    std::uint64_t high;  // of a long word: where its bytes begin in long_words_
    std::uint16_t size;  // 0: empty
    std::uint16_t count;
    std::int32_t ids[kInlineIds];  // the tokens, or where more than these begin in many_ids_
  };
  static_assert(sizeof(Entry) == 32, "two to a line of the processor's cache");

  // Zeros, without memory of their own until they are written.
  class Entries {
   public:
    explicit Entries(std::size_t count);
    ~Entries();
    Entries(const Entries&) = delete;
    Entries& operator=(const Entries&) = delete;

    Entry& operator[](std::size_t place) const { return first_[place]; }

   private:
    std::size_t bytes_;
    Entry* first_;
  };

  bool is_long_match(const Entry& entry, const WordKey& key) const {
    return key.is_long() && std::memcmp(long_words_.get() + entry.high, key.word.data(), key.word.size()) == 0;
  }

  const std::size_t most_words_;
  const std::size_t mask_;
  const Entries entries_;  // at most half full
  const std::unique_ptr<std::int32_t[]> many_ids_;
  const std::unique_ptr<char[]> long_words_;

  // Guards insertions; the members below it belong to whoever holds it.
  std::mutex mutex_;
  std::size_t words_ = 0;
  std::size_t many_ids_used_ = 0;
  std::size_t long_words_used_ = 0;
};

}  // namespace crope::text
