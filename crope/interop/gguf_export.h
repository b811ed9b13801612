// A model as one GGUF file for llama.cpp and programs built on it.
#pragma once

#include <filesystem>

#include "crope/base/log.h"
#include "crope/formats/gguf.h"
#include "crope/interop/export_check.h"

namespace crope::interop {

// Writes the model and, where `model_dir` has one, its tokenizer to the new file `out`, one tensor at a time; then
// reads the file back, computes and compares. The file appears only when it is complete and checked. `type` is that of
// the matrices; gains of norms stay fp32, a matrix whose rows do not fill the blocks of q8_0 and q4_0 becomes f16 (with
// a warning), and q4_0 keeps embedding and output in q8_0. Blocks of a quantised model are written as they are where
// `type` is theirs. Throws Error if `out` exists, llama.cpp has no such model, or the check fails.
ExportReport export_gguf(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                         formats::GgmlType type, Log& log);

}  // namespace crope::interop
