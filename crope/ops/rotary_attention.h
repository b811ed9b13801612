// The steps between the projections of an attention layer, as one operation: QK-norm, rotary positions, causal softmax
// attention of all heads, and the regrouping from rows in halves to heads and back.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "crope/ops/rope.h"

namespace crope::ops {

struct RotaryAttentionOptions {
  std::int64_t num_heads;
  double scale;  // of the scores
  double norm_eps = 1e-6;
  std::int64_t num_kv_heads = 0;  // heads of keys and values, a divisor of num_heads; 0: num_heads

  std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
};

// y[B, T, H Kv] from q[B, T, H K], k[B, T, G K], v[B, T, G Kv], all in halves: the real parts of every head, then the
// imaginary ones. Query head h reads the keys and values of head h / (H/G). The gains [K] may both be undefined: then
// queries and keys are not normalised. `table` has the phases of the T positions; position t sees 0 to t.
// Differentiable in q, k, v and the gains; keeps q, k, v and y for the gradient and computes the rest again. Throws
// Error if the shapes disagree.
torch::Tensor rotary_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& q_gain, const torch::Tensor& k_gain, const RopeTable& table,
                               const RotaryAttentionOptions& options);

// Heads of a width stored as halves: [B, T, 2 H K/2] -> [B, H, T, K], each head again [re | im].
torch::Tensor split_heads(const torch::Tensor& x, std::int64_t num_heads);

// The inverse.
torch::Tensor merge_heads(const torch::Tensor& heads);

}  // namespace crope::ops
