// The tokenizer files of a Hugging Face directory.
#pragma once

#include <cstdint>
#include <filesystem>

#include "crope/interop/hf_config.h"

namespace crope::interop {

// Copies tokenizer.json to the folder `out` and writes the tokenizer_config.json that transformers looks for. Returns
// the ids of the special tokens. Throws Error if the file is not a tokenizer.
SpecialTokens copy_tokenizer(const std::filesystem::path& tokenizer_json, const std::filesystem::path& out,
                             std::int64_t max_seq_len);

}  // namespace crope::interop
