// A SentencePiece vocabulary by hand: <unk>, <s>, </s>, 256 bytes, then pieces with falling scores; and its file.
#pragma once

#include <cstdio>
#include <cstring>
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

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

inline std::string bytes_field(int field, const std::string& data) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(data.size()) + data;
}

inline std::string number_field(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}

// The message that SentencePiece would write for the fixture.
inline std::string model_bytes(std::uint64_t type = 2) {
  const Vocabulary vocabulary = small_pieces();
  std::string model;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    std::string spelling = vocabulary.tokens[id];
    const std::uint64_t kind = id == 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1;
    if (kind == 6) {
      char hex[8];
      std::snprintf(hex, sizeof(hex), "<0x%02X>", static_cast<unsigned>(id - 3));
      spelling = hex;
    }
    for (std::size_t at = spelling.find(' '); kind == 1 && at != std::string::npos; at = spelling.find(' ')) {
      spelling.replace(at, 1, "\xE2\x96\x81");
    }
    std::string score(4, '\0');
    std::memcpy(score.data(), &vocabulary.pieces->scores[id], 4);
    model += bytes_field(1, bytes_field(1, spelling) + "\x15" + score + number_field(3, kind));
  }
  model += bytes_field(2, number_field(3, type) + bytes_field(9, "ignored"));
  return model + bytes_field(3, bytes_field(1, "identity") + number_field(3, 1));
}

}  // namespace crope::text
