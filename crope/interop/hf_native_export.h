// A model as a Hugging Face directory that keeps a and b: transformers computes it with the Python file beside it.
#pragma once

#include <torch/types.h>

#include <filesystem>

#include "crope/base/log.h"
#include "crope/interop/export_check.h"

namespace crope::interop {

// Writes config.json (with auto_map), model.safetensors, modeling_crope.py, README.md and, when `model_dir` has a
// tokenizer, its files, into the new folder `out`. The folder is also a model directory of ours; it is read back as one
// and compared, and appears only when it is complete. `type` is the type of the stored weights.
// Throws Error if `out` exists or the check fails.
ExportReport export_hf_native(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                              torch::ScalarType type, Log& log);

}  // namespace crope::interop
