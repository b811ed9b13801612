// Models from GGUF files.
#pragma once

#include <torch/types.h>

#include <filesystem>

#include "crope/base/log.h"

namespace crope::interop {

// Writes the model directory `out` with weights of `type`, the file's vocabulary as tokenizer.json and its chat
// template. For a model in several files, `file` is the first. A file without vocabulary gives a warning.
// Throws Error if `out` exists, or as load_gguf_model and read_gguf_vocabulary do.
void import_gguf(const std::filesystem::path& file, const std::filesystem::path& out, torch::ScalarType type, Log& log);

// Imports for inference alone, with the file's blocks of 8 and 4 bits as they are (GgufModel::read_stored); a warning
// counts the matrices of other types, which are rounded to 8 bits.
void import_gguf_blocks(const std::filesystem::path& file, const std::filesystem::path& out, Log& log);

}  // namespace crope::interop
