// The models whose logits, gradients and optimiser steps an independent implementation has computed
// (tests/data/goldens/README.md).
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace crope::test {

// Paths below tests/data/goldens: the six variants, and more/ with other settings.
inline std::vector<std::string> golden_models() {
  const std::filesystem::path root = std::filesystem::path(CROPE_SOURCE_DIR) / "tests/data/goldens";
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "golden.safetensors") continue;
    models.push_back(entry.path().parent_path().lexically_relative(root).string());
  }
  std::ranges::sort(models);
  return models;
}

inline std::filesystem::path golden_folder(const std::string& model) {
  return std::filesystem::path(CROPE_SOURCE_DIR) / "tests/data/goldens" / model;
}

// "more/rope_qk_gain_none" as the name of a test.
inline std::string golden_test_name(const std::string& model) {
  return model.substr(model.rfind('/') + 1);
}

}  // namespace crope::test
