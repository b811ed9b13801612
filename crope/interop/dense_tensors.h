// The tensors of a model file, dense, one at a time: what an export walks through.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <string>

#include "crope/formats/safetensors.h"

namespace crope::interop {

class DenseTensors {
 public:
  explicit DenseTensors(const std::filesystem::path& model_safetensors)
      : file_(formats::SafetensorsFile::open(model_safetensors)) {}

  // `name` is without its suffix: "blocks.3.attention.q" for .weight, or for .a and .b.
  bool contains(const std::string& name) const;

  // In fp32, in the file's own layout of adjacent pairs; a complex pair is expanded.
  torch::Tensor read(const std::string& name) const;

  // Gives the memory behind all that was read back to the system.
  void release() const { file_.mapping()->release(file_.mapping()->bytes()); }

 private:
  formats::SafetensorsFile file_;
};

}  // namespace crope::interop
