// The tensors of a model file, dense and with whole gains, one at a time: what an export walks through.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <string>

#include "crope/formats/safetensors.h"
#include "crope/model/config.h"

namespace crope::interop {

// What an export calls the model: an annealed one is written as a model of the variant rope, with whole gains. Others
// keep their configuration.
model::ModelConfig exported_config(const model::ModelConfig& config);

class DenseTensors {
 public:
  DenseTensors(const std::filesystem::path& model_safetensors, const model::ModelConfig& config)
      : file_(formats::SafetensorsFile::open(model_safetensors)), config_(config) {}

  // `name` is without its suffix: "blocks.3.attention.q" for .weight, or for .a and .b.
  bool contains(const std::string& name) const;

  // In fp32, in the file's own layout of adjacent pairs. A complex pair is expanded together with its
  // conjugate-linear part, a gain shared by a pair repeated, and a QK-norm without gains has ones.
  torch::Tensor read(const std::string& name) const;

  // Gives the memory behind all that was read back to the system.
  void release() const { file_.mapping()->release(file_.mapping()->bytes()); }

 private:
  formats::SafetensorsFile file_;
  model::ModelConfig config_;
};

}  // namespace crope::interop
