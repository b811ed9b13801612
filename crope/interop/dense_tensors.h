// The tensors of a model file, dense and with whole gains, one at a time, for exports.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "crope/model/config.h"
#include "crope/model/parameter_file.h"

namespace crope::interop {

// The configuration of the export: an annealed model becomes one of the variant rope, with whole gains. Other models
// keep their configuration.
model::ModelConfig exported_config(const model::ModelConfig& config);

class DenseTensors {
 public:
  // Throws Error if the file does not fit the configuration.
  DenseTensors(const std::filesystem::path& model_dir, const model::ModelConfig& config);

  // `name` is without its suffix: "blocks.3.attention.q" for .weight, or for .a and .b.
  bool contains(const std::string& name) const;

  // In fp32, in the layout of adjacent pairs. Quantised weights are widened, a complex pair is expanded together with
  // its conjugate-linear part, a gain shared by a pair repeated, and a QK-norm without gains has ones.
  torch::Tensor read(const std::string& name) const;

  // A matrix whose blocks are of this type, as bytes [rows, blocks, bytes of a block] in halves. Nothing if its blocks
  // are of another type, or if blocks of a pair do not come to lie side by side.
  std::optional<torch::Tensor> read_blocks(const std::string& name, ops::WeightType type) const;

  // Gives the memory behind all that was read back to the system.
  void release() const { file_.release(); }

 private:
  const model::ParameterSpec* find(const std::string& parameter) const;

  model::ModelConfig config_;
  model::ParameterFile file_;
  std::map<std::string, model::ParameterSpec> specs_;  // by name
};

}  // namespace crope::interop
