// The merging of one word: from its bytes to its tokens.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crope/text/vocabulary.h"

namespace crope::text {

// Immutable, safe for concurrent use.
class BpeMerger {
 public:
  // REQUIRES: vocabulary.check() passes.
  explicit BpeMerger(const Vocabulary& vocabulary);

  // Appends the tokens of `word`: of all neighbours that merge, those of the lowest rank go first, and of equal ranks
  // the leftmost. Bytes without a token are omitted. Takes O(n log n) time for a word of n bytes, however long.
  void append_word(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  struct Slot {
    std::int32_t left = -1;
    std::int32_t right = -1;
    std::uint32_t rank = kNoRank;
  };

  // The rank of the merge of two tokens, or kNoRank.
  std::uint32_t rank_of(std::int32_t left, std::int32_t right) const;
  std::size_t first_place(std::int32_t left, std::int32_t right) const;
  void append_short_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  void append_long_word(std::string_view word, std::vector<std::int32_t>& ids) const;

  std::array<std::int32_t, 256> byte_ids_{};  // negative where a byte has no token
  std::vector<std::uint32_t> byte_ranks_;     // of two bytes, [256 * left + right]: where every word begins
  std::vector<std::int32_t> results_;         // by rank
  std::vector<Slot> slots_;                   // open addressing, at most half full
  int shift_ = 0;
};

}  // namespace crope::text
