#include "crope/analysis/layer_losses.h"

#include <ATen/ATen.h>

#include "crope/base/interrupt.h"
#include "crope/model/block_trace.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/linear_cross_entropy.h"
#include "crope/ops/rms_norm.h"

namespace crope::analysis {

using torch::Tensor;

LayerLosses layer_losses(const model::Transformer& model, std::span<const Tensor> rows) {
  const at::NoGradGuard no_grad;
  const model::ModelConfig& config = model.config;
  const Tensor gain = model::expand_gain(model.norm, config.d_model);
  LayerLosses result;
  result.losses.resize(static_cast<std::size_t>(config.num_layers) + 1);
  for (const Tensor& row : rows) {
    throw_if_interrupted();
    const std::int64_t T = row.size(1) - 1;
    const Tensor targets = row.select(0, 0).narrow(0, 1, T);
    const auto add_loss = [&](std::size_t place, const Tensor& h) {
      const Tensor x = ops::rms_norm(h, gain, config.norm_eps).select(0, 0);
      result.losses[place] += ops::linear_token_losses(x, model.output, targets).sum(torch::kFloat64).item<double>();
    };
    Tensor h = model::embed(model, row.narrow(1, 0, T));
    add_loss(0, h);
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
      h = model::trace_block(model, layer, h).output;
      add_loss(static_cast<std::size_t>(layer) + 1, h);
    }
    result.tokens += T;
  }
  for (double& loss : result.losses) loss /= static_cast<double>(result.tokens);
  return result;
}

}  // namespace crope::analysis
