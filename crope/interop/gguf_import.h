// Models from GGUF files.
#pragma once

#include <torch/types.h>

#include <filesystem>

#include "crope/base/log.h"

namespace crope::interop {

// Writes the model directory `out` with weights of `type`, the file's vocabulary as tokenizer.json and its chat
// template. Of a model in several files `file` is the first. A file without vocabulary gives a warning.
// Throws Error if `out` exists, or as load_gguf_model and read_gguf_vocabulary do.
void import_gguf(const std::filesystem::path& file, const std::filesystem::path& out, torch::ScalarType type, Log& log);

}  // namespace crope::interop
