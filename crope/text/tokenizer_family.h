// Which of the families of tokenizers a tokenizer.json describes, and how a family is written there.
//
//   byte-level BPE   pre_tokenizer ByteLevel (GPT-2), Digits and ByteLevel (SmolLM), or Split by the pattern of Llama 3
//                    or Qwen 2 and ByteLevel; normalizer none or NFC
//   SentencePiece    model with byte_fallback; spaces become U+2581 by a normalizer or by Metaspace
#pragma once

#include <string>

#include "crope/base/json.h"
#include "crope/text/vocabulary.h"

namespace crope::text {

struct TokenizerFamily {
  WordSplit split = WordSplit::gpt2;
  bool whole_words_first = false;
  bool compose = false;
  bool sentence_pieces = false;
  bool add_space_prefix = false;  // SentencePiece's
};

// Throws Error naming the field that differs from every family: another model than BPE,
// dropout, affixes, other normalizers, patterns and decoders. Post-processors are not read: which tokens begin a text
// is config.json's to say.
TokenizerFamily read_tokenizer_family(const Json& root, const std::string& origin);

// The fields normalizer, pre_tokenizer, post_processor and decoder.
Json tokenizer_family_json(const Vocabulary& vocabulary);

}  // namespace crope::text
