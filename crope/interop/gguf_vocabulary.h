// The vocabulary that a GGUF file holds.
#pragma once

#include <optional>

#include "crope/base/json.h"
#include "crope/formats/gguf.h"
#include "crope/text/vocabulary.h"

namespace crope::interop {

// Numbers of llama.cpp for tokenizer.ggml.token_type.
enum GgufTokenKind : std::int32_t {
  kNormalToken = 1,
  kUnknownToken = 2,
  kControlToken = 3,
  kUserToken = 4,
  kUnusedToken = 5,
  kByteToken = 6,
};

// llama.cpp's name of a way to split words: tokenizer.ggml.pre.
const char* gguf_split_name(text::WordSplit split);

// Byte-level BPE (model gpt2; pre gpt-2, smollm, llama-bpe or qwen2) or SentencePiece's BPE (model llama). Nothing if
// the file says that it has none. Throws Error naming the key: another model or pre, no merges, lists of different
// lengths.
std::optional<text::Vocabulary> read_gguf_vocabulary(const formats::GgufFile& file);

// bos_token_id, eos_token_id and pad_token_id, those that the file gives; eos_token_id is a list where a token that
// ends a turn is named as well. Throws Error if an id is outside of [0, vocab_size).
Json gguf_token_ids(const formats::GgufFile& file, std::int64_t vocab_size);

}  // namespace crope::interop
