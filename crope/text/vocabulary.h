// A tokenizer as data: tokens, how they merge, special tokens. Readers and the trainer make one, writers and
// Tokenizer take one. Two families: byte-level BPE merges bytes of words by rank; SentencePiece's BPE merges characters
// of the whole text by score.
#pragma once

#include <cstdint>
#include <optional>
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
  std::string content;  // the text that stands for it in documents, and that it decodes to
  std::int32_t id;
};

// How byte-level BPE cuts a text into words before it merges (pretokenizer.h).
enum class WordSplit {
  gpt2,
  smollm,  // GPT-2's words, with every digit by itself
  llama3,  // words take one character before their letters along; digits by threes
  qwen2,   // the same, digits one by one
};

// The scores that a SentencePiece vocabulary has instead of merges.
struct SentencePieces {
  std::vector<float> scores;              // by id: of all neighbours that join, the highest score goes first
  std::vector<std::int32_t> byte_tokens;  // 256 ids, for characters without a token
  bool add_space_prefix = true;           // a text begins with a space

  bool operator==(const SentencePieces&) const = default;
};

struct Vocabulary {
  // The bytes of each token, by id, without holes. SentencePiece's mark U+2581 stands here as the space that it means.
  std::vector<std::string> tokens;
  std::vector<Merge> merges;                 // byte-level BPE
  std::vector<SpecialToken> special_tokens;  // each is also in `tokens`
  WordSplit split = WordSplit::gpt2;
  bool whole_words_first = false;             // a word that is a token is not merged (ignore_merges of tokenizer.json)
  bool compose = false;                       // texts are brought into Unicode's form NFC first; byte-level BPE only
  std::optional<SentencePieces> pieces = {};  // SentencePiece's family

  // Throws Error, starting with `origin`, unless special tokens are valid UTF-8, not empty, not twice there, and have
  // the bytes that `tokens` says, no token is empty, and:
  // - byte-level BPE: printable ASCII has its tokens, no two tokens have the same bytes, and every merge joins two
  //   tokens into the one with their bytes and stands there once. Other bytes may be missing; a text loses them.
  // - SentencePiece: there are as many scores as tokens, none NaN, and 256 byte tokens with their bytes.
  void check(std::string_view origin) const;

  // 16 hexadecimal digits that differ when anything above does.
  std::string fingerprint() const;
};

}  // namespace crope::text
