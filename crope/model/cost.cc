#include "crope/model/cost.h"

#include "crope/model/parameters.h"
#include "crope/ops/quantised_matrix.h"

namespace crope::model {

Cost cost_per_token(const ModelConfig& config, std::int64_t T) {
  constexpr double kBytes = 4;
  double products = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    const auto size = static_cast<double>(spec.size());
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
  return {.forward_flops = forward, .training_flops = 3 * forward, .cache_bytes = kBytes * cached_heads * widths};
}

double weight_bytes(const ModelConfig& config, ops::WeightType type) {
  const ParameterCounts counts = count_parameters(config);
  const bool is_int4 = type == ops::WeightType::int4 || type == ops::WeightType::int4_min;
  const double vocabulary_bits = ops::bits_per_weight(is_int4 ? ops::WeightType::int8 : type);
  const double gain_bits = ops::bits_per_weight(ops::is_quantised(type) ? ops::WeightType::fp32 : type);
  return (vocabulary_bits * static_cast<double>(counts.embedding) + gain_bits * static_cast<double>(counts.norm) +
          ops::bits_per_weight(type) * static_cast<double>(counts.attention + counts.feed_forward)) /
         8;
}

}  // namespace crope::model
