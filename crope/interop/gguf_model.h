// The tensors of models in GGUF files.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "crope/interop/gguf_config.h"
#include "crope/interop/gguf_files.h"
#include "crope/interop/hf_layout.h"
#include "crope/model/transformer.h"

namespace crope::interop {

// A tensor of our disk layout, dense, as the file has it.
torch::Tensor to_gguf(const torch::Tensor& disk, const HfName& name, const model::ModelConfig& config);

// A file as the dense model that llama.cpp sees in it, one tensor at a time.
class GgufModel {
 public:
  // Reads the shape from the file's keys, and checks names and shapes of all tensors. Throws Error naming the key or
  // tensor that is missing, left over, of another shape or of an unsupported kind.
  explicit GgufModel(const std::filesystem::path& path);

  // The file with the keys.
  const formats::GgufFile& head() const { return files_.head(); }

  const model::ModelConfig& config() const { return config_; }

  // The parameter widened to fp32, in our disk layout. Throws Error naming the tensor if it holds a scale that is not
  // finite.
  torch::Tensor read(const model::ParameterSpec& spec) const;

  // The parameter for inference, in halves (gguf_order.h): blocks of Q8_0, Q4_0 and Q4_1 as they are. Other matrices,
  // and blocks that would be torn apart, are rounded to 8 bits, and their names added to `rounded`.
  model::StoredValue read_stored(const model::ParameterSpec& spec, std::vector<std::string>& rounded) const;

 private:
  GgufFiles files_;
  model::ModelConfig config_;
};

// The whole model in fp32. Throws Error as GgufModel does.
model::Transformer load_gguf_model(const std::filesystem::path& path);

}  // namespace crope::interop
