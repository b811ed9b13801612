// A model as a Hugging Face directory that transformers, vLLM and llama.cpp's converter read.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <functional>

#include "crope/base/log.h"
#include "crope/interop/export_check.h"
#include "crope/interop/hf_config.h"
#include "crope/interop/model_card.h"

namespace crope::interop {

// Writes config.json, model.safetensors, README.md (model_card.h) and, when `model_dir` has a tokenizer, its files,
// into the new folder `out`; then reads the export back and compares. The folder appears only when it is complete and
// checked. `type` is the type of the stored weights. Throws Error if `out` exists, the model is not supported, or the
// check fails: by more than rounding in fp32, or anything that is not finite.
ExportReport export_hf(const std::filesystem::path& model_dir, const std::filesystem::path& out, torch::ScalarType type,
                       Log& log);

// The parts in which the folders for Hugging Face's libraries differ. `folder` is the one that is being written.
struct HfFolder {
  CardKind card;
  std::function<Json(const SpecialTokens&)> config;  // the contents of config.json
  std::function<void(const std::filesystem::path& folder)> write_weights;
  std::function<model::Transformer(const std::filesystem::path& folder)> read_back;
};

// Writes such a folder and checks it, as export_hf() says.
ExportReport write_hf_folder(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                             torch::ScalarType type, const HfFolder& parts, Log& log);

}  // namespace crope::interop
