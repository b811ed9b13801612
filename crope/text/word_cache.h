// Words seen before and their tokens: most of a text is a few thousand words again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace crope::text {

// An open-addressing table. A word of up to 16 bytes is its own key, so that a hit is two comparisons in one line of
// the processor's cache; longer ones are kept aside. Forgets everything when it is full. For one thread at a time.
class WordCache {
 public:
  static constexpr std::size_t kInlineBytes = 16;
  static constexpr std::size_t kLongestWord = 256;  // longer words are rare and are not kept

  // A word and where to look for it. The word must stay where it is as long as the key is used.
  struct Key {
    std::string_view word;
    std::uint64_t low;   // the first 8 bytes, or the hash of a long word
    std::uint64_t high;  // the next 8 bytes
    std::uint64_t hash;
  };

  explicit WordCache(std::size_t most_words = std::size_t{1} << 17);

  // REQUIRES: word is not empty; bytes up to `readable_end` may be read, and the word ends at or before it.
  static Key key_of(std::string_view word, const char* readable_end) {
    const std::size_t size = word.size();
    if (size > kInlineBytes) return long_key(word);
    std::uint64_t bytes[2] = {0, 0};
    if (static_cast<std::size_t>(readable_end - word.data()) >= kInlineBytes) {
      std::memcpy(bytes, word.data(), kInlineBytes);
      bytes[0] &= size >= 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << (8 * size));
      bytes[1] &= size >= 16 ? ~std::uint64_t{0} : size <= 8 ? 0 : ~(~std::uint64_t{0} << (8 * (size - 8)));
    } else {
      std::memcpy(bytes, word.data(), size);
    }
    return {word, bytes[0], bytes[1], mix(bytes[0] ^ size, bytes[1])};
  }

  // The tokens of the word, or an empty span. Valid until the next insert.
  std::span<const std::int32_t> find(const Key& key) const {
    for (std::size_t place = key.hash & mask_;; place = (place + 1) & mask_) {
      const Entry& entry = entries_[place];
      if (entry.size == key.word.size() && entry.low == key.low &&
          (entry.high == key.high || is_long_match(entry, key))) {
        if (entry.count == 1) return {&entry.first, 1};
        return {ids_.data() + entry.first, entry.count};
      }
      if (entry.size == 0) return {};
    }
  }

  // REQUIRES: find(key) gave nothing, and ids is not empty.
  void insert(const Key& key, std::span<const std::int32_t> ids);

  std::size_t size() const { return words_; }

 private:
  struct Entry {
    std::uint64_t low;
    std::uint64_t high;  // of a long word: where its bytes begin in long_words_
    std::uint32_t size;  // 0: empty
    std::uint32_t count;
    std::int32_t first;  // the token, or where several begin in ids_
  };

  // Folded product: every bit of both reaches the low bits of the result.
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a ^ 0xA0761D6478BD642F) * (b ^ 0xE7037ED1A0B428DB);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  static Key long_key(std::string_view word);

  bool is_long_match(const Entry& entry, const Key& key) const {
    return key.word.size() > kInlineBytes &&
           std::memcmp(long_words_.data() + entry.high, key.word.data(), key.word.size()) == 0;
  }

  void place(const Entry& entry, std::uint64_t hash);
  void grow();
  void clear();

  std::size_t most_words_;
  std::size_t words_ = 0;
  std::size_t mask_;
  std::vector<Entry> entries_;  // at most half full
  std::vector<std::int32_t> ids_;
  std::vector<char> long_words_;
};

}  // namespace crope::text
