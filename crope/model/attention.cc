#include "crope/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/model/norm_gain.h"

namespace crope::model {

using torch::Tensor;

double attention_scale(std::int64_t K) {
  return 1.0 / std::sqrt(static_cast<double>(K));
}

ops::RopeTable rope_table(const ModelConfig& config, std::int64_t T, const torch::TensorOptions& options) {
  const Tensor positions = at::arange(T, options.dtype(torch::kInt64));
  const std::vector<double> frequencies =
      ops::rope_frequencies(config.qk_width(), config.rope_theta, config.rope_scaling, config.max_seq_len);
  return ops::rope_table(positions, frequencies, ops::rope_amplitude(config.rope_scaling), options);
}

Tensor attend(const Attention& attention, const Tensor& x, const ops::RopeTable& positions) {
  const auto [q, k, v] = ops::project(x, attention.qkv);
  const int64_t K = q.size(-1) / attention.num_heads;
  return ops::rotary_attention(q, k, v, expand_gain(attention.q_norm, K), expand_gain(attention.k_norm, K), positions,
                               {.num_heads = attention.num_heads,
                                .scale = attention_scale(K),
                                .norm_eps = attention.norm_eps,
                                .num_kv_heads = attention.num_kv_heads});
}

Tensor forward(const Attention& attention, const Tensor& x, const ops::RopeTable& positions) {
  return ops::project(attend(attention, x, positions), attention.o);
}

}  // namespace crope::model
