// The function space of a model, or of all checkpoints of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/analysis/function_space.h"
#include "crope/base/log.h"

namespace crope::analysis {

struct AnalyzedModel {
  std::filesystem::path dir;
  std::optional<std::int64_t> step;  // of a checkpoint
  std::vector<ProjectionEnergies> projections;
};

struct ModelAnalysis {
  model::ModelConfig config;
  std::vector<AnalyzedModel> models;  // one, or a run's checkpoints from the first to the last

  const AnalyzedModel& last() const { return models.back(); }
};

// `path` is a model directory or a run directory; of a run, every complete checkpoint. Throws Error if it is neither.
// Progress goes to `log`.
ModelAnalysis analyze_model(const std::filesystem::path& path, Log& log);

}  // namespace crope::analysis
