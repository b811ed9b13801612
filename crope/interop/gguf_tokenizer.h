// A tokenizer as the keys that llama.cpp reads from a GGUF file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "crope/base/log.h"
#include "crope/formats/gguf.h"
#include "crope/model/config.h"

namespace crope::interop {

// tokenizer.ggml.*: the family and its way to split words, tokens in its spelling, their kinds, merges or scores, the
// ids that begin and end a text (those of config.json, else <|endoftext|>), and the chat template. Rows of the model
// that the tokenizer has no token for are filled up with unused ones: llama.cpp wants one for each. Where there is no
// tokenizer.json, or one of another family than ours, the keys say that there is no vocabulary, and a warning says what
// that means. Throws Error if the tokenizer has more tokens than the model has rows.
formats::GgufMetadata gguf_tokenizer_keys(const std::filesystem::path& model_dir, const model::ModelConfig& config,
                                          Log& log);

}  // namespace crope::interop
