// GPT-2's own pair of files: encoder.json (tokens and ids) and vocab.bpe (merges).
#pragma once

#include <filesystem>

#include "crope/text/vocabulary.h"

namespace crope::text {

// <|endoftext|>, if it is among the tokens, is a special token.
// Throws Error naming the file, and the token or the merge, when they are damaged or do not belong together.
Vocabulary read_gpt2_files(const std::filesystem::path& encoder_json, const std::filesystem::path& vocab_bpe);

}  // namespace crope::text
