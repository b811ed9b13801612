#include "crope/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>

namespace crope::model {

using torch::Tensor;

Tensor forward(const Attention& attention, const Tensor& x, const ops::RopeTable& positions) {
  const auto [q, k, v] = project(x, attention.qkv);
  const auto head_width = static_cast<double>(q.size(-1)) / static_cast<double>(attention.num_heads);
  const Tensor out = ops::rotary_attention(
      q, k, v, attention.q_norm, attention.k_norm, positions,
      {.num_heads = attention.num_heads, .scale = 1.0 / std::sqrt(head_width), .norm_eps = attention.norm_eps});
  return project(out, attention.o);
}

}  // namespace crope::model
