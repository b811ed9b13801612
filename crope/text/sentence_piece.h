// SentencePiece's BPE: from a text to its tokens, without words.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "crope/text/vocabulary.h"

namespace crope::text {

// U+2581, which stands for a space in files of this family.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// `text` with every space mark as a space, or the other way round.
std::string marks_to_spaces(std::string_view text);
std::string spaces_to_marks(std::string_view text);

// Immutable, safe for concurrent use.
class SentencePieceMerger {
 public:
  // The vocabulary must outlive it. REQUIRES: vocabulary.check() passes, and it has pieces.
  explicit SentencePieceMerger(const Vocabulary& vocabulary);

  // Appends the tokens of `text`: its characters, of which neighbours that are a token together join, those of the
  // highest score first, and of equal scores the leftmost. A character that is no token becomes its bytes'. With
  // `add_space_prefix` a space comes first. Takes O(n log n) time.
  void append_text(std::string_view text, std::vector<std::int32_t>& ids) const;

 private:
  const SentencePieces& pieces_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of tokens that text can become
};

}  // namespace crope::text
