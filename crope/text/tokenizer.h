// Text to token ids and back, for any bytes: byte-level BPE and SentencePiece's BPE.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/text/vocabulary.h"

namespace crope::text {

// A tokenizer in Hugging Face's format, beside a model or its training data.
inline constexpr const char* kTokenizerFile = "tokenizer.json";

// A stretch of a text: a special token, or text between two of them.
struct MarkedText {
  std::string_view text;
  std::optional<std::int32_t> special;
};

// Immutable. Every function may be called by several threads at once. Copies are cheap and share what they have
// learned about words.
//
// decode(encode(x)) == x for all x whose bytes have tokens. Bytes that are not valid UTF-8 become one token each, and
// the text between them is encoded as if it stood alone (docs/tokenizer.md).
class Tokenizer {
 public:
  // A tokenizer.json, or a folder that holds one. Throws Error naming the file and the field if it is damaged, or of
  // another family (tokenizer_json.h).
  static Tokenizer load(const std::filesystem::path& dir_or_file);

  // Throws Error if the vocabulary does not pass its own check.
  explicit Tokenizer(Vocabulary vocabulary);

  // Special tokens in the text are ordinary text.
  std::vector<std::int32_t> encode(std::string_view text) const;
  void encode_append(std::string_view text, std::vector<std::int32_t>& ids) const;

  // Special tokens in the text become their ids; of several that start at one place the longest is taken.
  std::vector<std::int32_t> encode_with_special(std::string_view text) const;

  // The text cut at its special tokens, as encode_with_special() does.
  std::vector<MarkedText> split_special(std::string_view text) const;

  // encode() of each text, by `threads` threads. The result does not depend on their number.
  std::vector<std::vector<std::int32_t>> encode_batch(std::span<const std::string_view> texts, int threads) const;

  // encode() of one long text, by `threads` threads.
  std::vector<std::int32_t> encode_parallel(std::string_view text, int threads) const;

  // The bytes of the tokens, also when they are not UTF-8; without the space that encode() puts before a text of
  // SentencePiece's. Throws Error on an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;

  // Lives as long as the tokenizer or a copy of it. Throws Error on an id outside the vocabulary.
  std::string_view token_bytes(std::int32_t id) const;

  // The id of the token with these bytes.
  std::optional<std::int32_t> find_token(std::string_view bytes) const;

  std::int32_t vocab_size() const;

  // The id of <|endoftext|>, if that is a special token.
  std::optional<std::int32_t> end_of_text() const;

  // A hash over tokens, merges and special tokens, in hexadecimal digits.
  std::string fingerprint() const;

  const Vocabulary& vocabulary() const;

 private:
  struct State;

  explicit Tokenizer(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

}  // namespace crope::text
