// The tokenizer files of a Hugging Face directory.
#pragma once

#include <cstdint>
#include <filesystem>

#include "crope/base/log.h"
#include "crope/interop/hf_config.h"

namespace crope::interop {

// Copies tokenizer.json to the folder `out`, with the chat template beside it, and writes the tokenizer_config.json
// that transformers looks for: begin and end tokens come from `config`, else <|endoftext|>. Returns the ids of the
// special tokens. Throws Error if the file is not a tokenizer.
SpecialTokens copy_tokenizer(const std::filesystem::path& tokenizer_json, const std::filesystem::path& out,
                             const model::ModelConfig& config);

// The other way: tokenizer.json, or the SentencePiece model tokenizer.model as a tokenizer.json, and the chat template
// of a Hugging Face directory. A directory without tokenizer gives a warning. Throws Error if tokenizer.model is
// damaged or of an unsupported type.
void import_hf_text_files(const std::filesystem::path& hf_dir, const std::filesystem::path& out,
                          std::int64_t max_seq_len, Log& log);

}  // namespace crope::interop
