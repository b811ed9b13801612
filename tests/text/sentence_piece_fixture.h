// A SentencePiece vocabulary by hand: <unk>, <s>, </s>, 256 bytes, then pieces with falling scores.
#pragma once

#include <string>
#include <vector>

#include "crope/text/vocabulary.h"

namespace crope::text {

inline Vocabulary small_pieces() {
  Vocabulary vocabulary;
  vocabulary.pieces.emplace();
  for (const char* name : {"<unk>", "<s>", "</s>"}) {
    vocabulary.special_tokens.push_back({name, static_cast<std::int32_t>(vocabulary.tokens.size())});
    vocabulary.tokens.emplace_back(name);
  }
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.pieces->byte_tokens.push_back(static_cast<std::int32_t>(vocabulary.tokens.size()));
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.pieces->scores.assign(vocabulary.tokens.size(), 0);
  float score = 0;
  for (const char* piece : {" t", "he", " the", "in", "ing", "th", "  ", " ", "t", "h", "e", "i", "n", "g", "é"}) {
    vocabulary.tokens.emplace_back(piece);
    vocabulary.pieces->scores.push_back(--score);
  }
  return vocabulary;
}

}  // namespace crope::text
