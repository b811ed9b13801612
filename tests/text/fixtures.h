// What the tests of this layer share: a small vocabulary, and the real data where there is some.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "crope/text/byte_alphabet.h"
#include "crope/text/vocabulary.h"

namespace crope::text {

// <|endoftext|>, the 256 bytes in GPT-2's order, and one token for each merge, given as byte strings.
inline Vocabulary make_vocabulary(const std::vector<std::pair<std::string, std::string>>& merges) {
  Vocabulary vocabulary;
  vocabulary.tokens.emplace_back(kEndOfText);
  vocabulary.special_tokens.push_back({std::string(kEndOfText), 0});
  for (const std::uint8_t byte : bytes_in_vocabulary_order())
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  const auto id_of = [&](const std::string& token) {
    return static_cast<std::int32_t>(std::ranges::find(vocabulary.tokens, token) - vocabulary.tokens.begin());
  };
  for (const auto& [left, right] : merges) {
    const std::int32_t a = id_of(left), b = id_of(right);
    if (id_of(left + right) == static_cast<std::int32_t>(vocabulary.tokens.size())) {
      vocabulary.tokens.push_back(left + right);
    }
    vocabulary.merges.push_back({a, b, id_of(left + right)});
  }
  return vocabulary;
}

inline Vocabulary small_vocabulary() {
  return make_vocabulary({{" ", "t"}, {"h", "e"}, {" t", "he"}, {"l", "l"}, {"he", "ll"}, {"a", "a"}, {"aa", "aa"}});
}

// The folder that CROPE_TEST_DATA names.
inline std::optional<std::filesystem::path> test_data() {
  const char* folder = std::getenv("CROPE_TEST_DATA");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

// Bytes of every kind: ASCII, white space, characters of many scripts, and broken UTF-8.
inline std::string random_text(std::mt19937& random, std::size_t pieces) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "the",
                                                   " the",
                                                   "'s",
                                                   "'ll",
                                                   "'",
                                                   "'re",
                                                   " ",
                                                   "  ",
                                                   "\n",
                                                   "\t",
                                                   "7",
                                                   "42",
                                                   ".",
                                                   "!?",
                                                   "é",
                                                   "ß",
                                                   "Ж",
                                                   "語",
                                                   "日本",
                                                   "٣",
                                                   "½",
                                                   "🙂",
                                                   "👩‍👩‍👧",
                                                   "\u00A0",
                                                   "\u3000",
                                                   "\u180E",
                                                   "\xE2",
                                                   "\xFF",
                                                   "\xC0\x80",
                                                   "\xED\xA0\x80",
                                                   "\xF4\x90\x80\x80",
                                                   "\r\n",
                                                   "_",
                                                   "\x1C",
                                                   "\u0301",
                                                   "\u2028",
                                                   "\x85",
                                                   "Z",
                                                   "हि",
                                                   "العر",
                                                   "\xF0\x9F",
                                                   std::string(1, '\0')};
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % kPieces.size()];
  return text;
}

}  // namespace crope::text
