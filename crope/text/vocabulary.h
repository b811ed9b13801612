// What a byte-level BPE tokenizer is, as data: tokens, merges, special tokens. Readers and the trainer make one,
// writers and Tokenizer take one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crope::text {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

// Two neighbouring tokens that become one. Its place in the list is its rank: the lowest rank merges first.
struct Merge {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
};

struct SpecialToken {
  std::string content;  // the text that stands for it, which is also what it decodes to
  std::int32_t id;
};

struct Vocabulary {
  std::vector<std::string> tokens;  // the bytes of each token, by id, without holes
  std::vector<Merge> merges;
  std::vector<SpecialToken> special_tokens;  // each also stands in `tokens`

  // Throws Error, starting with `origin`, unless each of the 256 bytes is a token, no two tokens have the same bytes,
  // every merge joins two tokens into the one with their bytes and stands there once, and special tokens are valid
  // UTF-8, not empty, not twice there, and have the bytes that `tokens` says.
  void check(std::string_view origin) const;

  // 16 hexadecimal digits that differ when tokens, merges or special tokens do.
  std::string fingerprint() const;
};

}  // namespace crope::text
