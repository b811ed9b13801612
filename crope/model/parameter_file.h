// model.safetensors of a model directory: the values of its parameters, in plain numbers or in blocks of 8 or 4 bits
// (docs/formats.md).
//
// Plain numbers lie in adjacent pairs. Blocks lie in halves, rows and columns, as in memory: 32 neighbours of a row
// would be other numbers in the other order.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "crope/formats/safetensors.h"
#include "crope/model/parameters.h"
#include "crope/ops/quantised_matrix.h"

namespace crope::model {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kWeightsFile = "model.safetensors";

using StoredValue = std::variant<torch::Tensor, ops::QuantisedMatrix>;

class ParameterFile {
 public:
  // Throws Error naming file and tensor if one is missing, unknown, or of another shape or type than `specs` say.
  ParameterFile(const std::filesystem::path& model_dir, std::vector<ParameterSpec> specs);

  const std::vector<ParameterSpec>& specs() const { return specs_; }
  const std::filesystem::path& path() const { return file_.path(); }

  // The value in halves, in the type and on the device of `options`; blocks are widened. Mapped, not copied, where it
  // is the same on disk. What was copied is given back to the system.
  torch::Tensor read(const ParameterSpec& spec, const torch::TensorOptions& options) const;

  // The value in adjacent pairs, in fp32.
  torch::Tensor read_pairs(const ParameterSpec& spec) const;

  // The value in halves: blocks as they are, plain numbers in fp32.
  StoredValue read_stored(const ParameterSpec& spec) const;

  // Throws Error if there is no room for what read() copies for such options.
  void require_memory_of_copies(const torch::TensorOptions& options) const;

  // Gives the memory behind all that was read back to the system.
  void release() const { file_.mapping()->release(file_.mapping()->bytes()); }

 private:
  void check(const ParameterSpec& spec) const;
  ops::QuantisedMatrix read_blocks(const ParameterSpec& spec) const;

  formats::SafetensorsFile file_;
  std::vector<ParameterSpec> specs_;
};

}  // namespace crope::model
