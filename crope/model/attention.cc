#include "crope/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/ops/attention.h"
#include "crope/ops/rms_norm.h"

namespace crope::model {

using torch::Tensor;

Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
  const int64_t B = x.size(0), T = x.size(1), width = x.size(2) / num_heads;
  return x.view({B, T, 2, num_heads, width / 2}).permute({0, 3, 1, 2, 4}).reshape({B, num_heads, T, width});
}

Tensor merge_heads(const Tensor& heads) {
  const int64_t B = heads.size(0), H = heads.size(1), T = heads.size(2), width = heads.size(3);
  return heads.reshape({B, H, T, 2, width / 2}).permute({0, 2, 3, 1, 4}).reshape({B, T, H * width});
}

namespace {

// Heads [B, H, T, K] of a projection, normalised and turned to their positions.
Tensor rotated_heads(const Tensor& flat, const Tensor& gain, const Attention& attention,
                     const ops::RopeTable& positions) {
  const Tensor heads = split_heads(flat, attention.num_heads);
  return ops::rope(gain.defined() ? ops::rms_norm(heads, gain, attention.norm_eps) : heads, positions);
}

}  // namespace

Tensor forward(const Attention& attention, const Tensor& x, const ops::RopeTable& positions) {
  const auto [q_flat, k_flat, v_flat] = project(x, attention.qkv);
  const Tensor q = rotated_heads(q_flat, attention.q_norm, attention, positions);
  const Tensor k = rotated_heads(k_flat, attention.k_norm, attention, positions);
  const Tensor v = split_heads(v_flat, attention.num_heads);
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor out = ops::attention(q, k, v, {.scale = scale});  // [B, H, T, Kv]
  return project(merge_heads(out), attention.o);
}

}  // namespace crope::model
