// A model as a Hugging Face directory that transformers, vLLM and llama.cpp's converter read.
#pragma once

#include <torch/types.h>

#include <filesystem>

#include "crope/base/log.h"
#include "crope/interop/export_check.h"

namespace crope::interop {

// Writes config.json, model.safetensors, README.md (model_card.h) and, when `model_dir` has a tokenizer, its files,
// into the new folder `out`; then reads the export back and compares. The folder appears only when it is complete and
// checked. `type` is the type of the stored weights. Throws Error if `out` exists, the model is not supported, or the
// check fails: by more than rounding in fp32, or anything that is not finite.
ExportReport export_hf(const std::filesystem::path& model_dir, const std::filesystem::path& out, torch::ScalarType type,
                       Log& log);

}  // namespace crope::interop
