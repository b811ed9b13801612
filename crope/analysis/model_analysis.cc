#include "crope/analysis/model_analysis.h"

#include <ATen/ATen.h>

#include "crope/analysis/model_places.h"
#include "crope/base/progress.h"
#include "crope/model/model_dir.h"

namespace crope::analysis {

ModelAnalysis analyze_model(const std::filesystem::path& path, Log& log) {
  const at::NoGradGuard no_grad;
  ModelAnalysis analysis;
  for (const ModelPlace& place : model_places(path)) analysis.models.push_back({place.dir, place.step, {}});
  Progress progress(log, {.label = "analyze", .unit = "models", .total = analysis.models.size()});
  for (std::size_t i = 0; i < analysis.models.size(); ++i) {
    const model::Transformer model = model::load_model(analysis.models[i].dir, log);
    analysis.models[i].projections = projection_energies(model);
    progress.update(i + 1);
    if (i + 1 == analysis.models.size()) analysis.config = model.config;
  }
  return analysis;
}

}  // namespace crope::analysis
