// A word as tables of words look for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace crope::text {

// A word of up to kInlineBytes is its own key, so that equal words are found by two comparisons of numbers; a longer
// one has its hash, and its bytes must be compared. The word must stay where it is as long as the key is used.
struct WordKey {
  static constexpr std::size_t kInlineBytes = 16;

  std::string_view word;
  std::uint64_t low;   // the first 8 bytes, or the hash of a long word
  std::uint64_t high;  // the next 8 bytes, or all ones
  std::uint64_t hash;

  bool is_long() const { return word.size() > kInlineBytes; }

  // Folded product: every bit of both reaches the low bits of the result. The seeds differ in every process, so that
  // no one can choose words that collide in a table.
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a ^ kSeeds[0]) * (b ^ kSeeds[1]);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  // REQUIRES: word is not empty; bytes up to `readable_end` may be read, and the word ends at or before it.
  static WordKey of(std::string_view word, const char* readable_end) {
    const std::size_t size = word.size();
    if (size > kInlineBytes) return of_long(word);
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

 private:
  static const std::array<std::uint64_t, 2> kSeeds;

  static WordKey of_long(std::string_view word);
};

}  // namespace crope::text
