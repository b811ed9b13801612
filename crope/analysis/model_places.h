// The models below a path: one, or all checkpoints of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace crope::analysis {

struct ModelPlace {
  std::filesystem::path dir;
  std::optional<std::int64_t> step;  // of a checkpoint
};

// A model directory, or every complete checkpoint of a run directory from the first to the last; at least one place.
// Throws Error if `path` is neither.
std::vector<ModelPlace> model_places(const std::filesystem::path& path);

}  // namespace crope::analysis
