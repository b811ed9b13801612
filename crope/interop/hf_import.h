// Models from Hugging Face directories: Qwen3 and Llama.
#pragma once

#include <filesystem>

#include "crope/base/log.h"
#include "crope/model/transformer.h"

namespace crope::interop {

// Reads config.json and model.safetensors, or the shards that model.safetensors.index.json names, of F32, F16 or BF16
// weights, into fp32. A directory that was exported from here comes back as its own variant, unless its weights have
// been changed so that they are no longer tied: then it is dense, with a warning. Throws Error naming the file, and the
// field or tensor, for anything missing, unknown, of another shape or of an unsupported kind.
model::Transformer load_hf_model(const std::filesystem::path& hf_dir, Log& log);

// Writes the model directory `out`, with the tokenizer if there is one. Throws Error if `out` exists.
void import_hf(const std::filesystem::path& hf_dir, const std::filesystem::path& out, Log& log);

}  // namespace crope::interop
