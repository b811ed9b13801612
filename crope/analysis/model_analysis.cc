#include "crope/analysis/model_analysis.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "crope/base/progress.h"
#include "crope/base/random.h"
#include "crope/model/model_dir.h"
#include "crope/run/run_dir.h"

namespace crope::analysis {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

std::vector<AnalyzedModel> models_of(const fs::path& path) {
  std::vector<AnalyzedModel> models;
  if (!fs::exists(path / model::kConfigFile)) {
    for (const run::Checkpoint& checkpoint : run::list_checkpoints(path)) {
      if (fs::exists(checkpoint.path / model::kConfigFile)) models.push_back({checkpoint.path, checkpoint.step, {}});
    }
  }
  if (models.empty()) models.push_back({model::resolve_model_dir(path), std::nullopt, {}});
  return models;
}

std::vector<Tensor> dense_inputs(const model::Transformer& model) {
  std::vector<Tensor> matrices;
  for (const model::Block& block : model.blocks) {
    for (const ops::Weight& projection : block.attention.qkv) matrices.push_back(ops::dense_matrix(projection));
  }
  return matrices;
}

std::vector<Tensor> random_twins(const std::vector<Tensor>& matrices) {
  std::vector<Tensor> twins;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const RandomStream stream(i, "analysis.random_twin");
    Tensor twin = at::empty_like(matrices[i], at::MemoryFormat::Contiguous);
    auto* values = twin.mutable_data_ptr<float>();
    for (int64_t j = 0; j < twin.numel(); ++j)
      values[j] = static_cast<float>(stream.normal_at(static_cast<std::uint64_t>(j)));
    // As large as what it stands for: large matrices count for more.
    twins.push_back(twin * (matrices[i].norm() / twin.norm()));
  }
  return twins;
}

}  // namespace

ModelAnalysis analyze_model(const fs::path& path, Log& log) {
  const at::NoGradGuard no_grad;
  ModelAnalysis analysis;
  analysis.models = models_of(path);
  Progress progress(log, {.label = "analyze", .unit = "models", .total = analysis.models.size()});
  for (std::size_t i = 0; i < analysis.models.size(); ++i) {
    const model::Transformer model = model::load_model(analysis.models[i].dir, log);
    analysis.models[i].projections = projection_energies(model);
    progress.update(i + 1);
    if (i + 1 < analysis.models.size()) continue;
    analysis.config = model.config;
    if (std::ranges::none_of(analysis.models[i].projections, &ProjectionEnergies::tied)) {
      const std::vector<Tensor> matrices = dense_inputs(model);
      analysis.best_linear_share = best_linear_share(matrices);
      analysis.random_best_linear_share = best_linear_share(random_twins(matrices));
    }
  }
  return analysis;
}

}  // namespace crope::analysis
