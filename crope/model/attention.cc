#include "crope/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/model/norm_gain.h"

namespace crope::model {

using torch::Tensor;

Tensor forward(const Attention& attention, const Tensor& x, const ops::RopeTable& positions) {
  const auto [q, k, v] = project(x, attention.qkv);
  const int64_t K = q.size(-1) / attention.num_heads;
  const Tensor out =
      ops::rotary_attention(q, k, v, expand_gain(attention.q_norm, K), expand_gain(attention.k_norm, K), positions,
                            {.num_heads = attention.num_heads,
                             .scale = 1.0 / std::sqrt(static_cast<double>(K)),
                             .norm_eps = attention.norm_eps});
  return project(out, attention.o);
}

}  // namespace crope::model
