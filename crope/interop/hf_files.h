// The weight files of a Hugging Face directory, one or several, as one set of tensors.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "crope/formats/safetensors.h"

namespace crope::interop {

class HfFiles {
 public:
  // Throws Error if there are no weights, a shard that the index names is missing, or a shard misses a tensor that the
  // index puts into it.
  explicit HfFiles(const std::filesystem::path& dir);

  std::set<std::string> names() const;

  // The tensor in fp32, checked for its shape. Throws Error if it is absent, not floating-point, or of another shape.
  // It may be a view of the mapped file.
  torch::Tensor read(const std::string& name, const std::vector<std::int64_t>& shape) const;

  // Gives the memory behind a tensor that has been copied back to the system.
  void release(const std::string& name) const;

 private:
  std::vector<formats::SafetensorsFile> files_;
  std::map<std::string, std::size_t> places_;  // of each tensor: which file
  std::filesystem::path dir_;
};

}  // namespace crope::interop
