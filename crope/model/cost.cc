#include "crope/model/cost.h"

#include "crope/model/parameters.h"

namespace crope::model {

Cost cost_per_token(const ModelConfig& config, std::int64_t T) {
  constexpr double kBytes = 4;
  double products = 0, weights = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    const auto size = static_cast<double>(spec.size());
    weights += size;
    switch (spec.role) {
      case Role::gain:
      case Role::embedding:
        break;
      case Role::matrix:
        products += size;
        break;
      case Role::pair_a:
      case Role::pair_b:
        // Three products of [M, N] for the two matrices of a pair; an annealed pair of pairs is multiplied as one
        // matrix.
        products += config.conjugate_scale ? size : 1.5 * size;
        break;
    }
  }
  products += static_cast<double>(config.vocab_size * config.d_model);  // the logits; looking up a row costs nothing
  const auto heads = static_cast<double>(config.num_layers * config.num_heads);
  const auto cached_heads = static_cast<double>(config.num_layers * config.kv_heads());
  const auto widths = static_cast<double>(config.qk_width() + config.v_width());
  const double average_context = (static_cast<double>(T) + 1) / 2;
  const double forward = 2 * (products + heads * widths * average_context);
  return {.forward_flops = forward,
          .training_flops = 3 * forward,
          .weight_bytes = kBytes * weights,
          .cache_bytes = kBytes * cached_heads * widths};
}

}  // namespace crope::model
