// Hugging Face's tokenizer.json, for the families of tokenizers that Tokenizer has (tokenizer_family.h).
#pragma once

#include <filesystem>

#include "crope/text/vocabulary.h"

namespace crope::text {

// A tokenizer.json, or a folder that holds one. Throws Error naming the file and the field when it is damaged, or
// when a field differs from every family.
// Truncation and padding are the business of whoever makes batches and are not read.
Vocabulary read_tokenizer_json(const std::filesystem::path& dir_or_file);

struct TokenizerFileOptions {
  int model_max_length = 512;  // what readers of tokenizer_config.json take for the longest input of the model
};

// Writes tokenizer.json and tokenizer_config.json, which transformers and tokenizers load. The same vocabulary gives
// the same bytes. REQUIRES: the folder exists and vocabulary.check() passes.
void write_tokenizer_files(const std::filesystem::path& dir, const Vocabulary& vocabulary,
                           const TokenizerFileOptions& options = {});

}  // namespace crope::text
