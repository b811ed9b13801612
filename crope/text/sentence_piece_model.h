// SentencePiece's own files, tokenizer.model: a message of protocol buffers.
#pragma once

#include <filesystem>

#include "crope/text/vocabulary.h"

namespace crope::text {

inline constexpr const char* kSentencePieceFile = "tokenizer.model";

// Throws Error naming the file and the byte if it is damaged, and for models of another type than BPE, such as unigram,
// with the type's name.
Vocabulary read_sentence_piece_model(const std::filesystem::path& path);

}  // namespace crope::text
