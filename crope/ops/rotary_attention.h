// What lies between the projections of an attention layer, as one operation: QK-norm, rotary positions, causal softmax
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
};

// y[B, T, H Kv] from q[B, T, H K], k[B, T, H K], v[B, T, H Kv], all in halves: the real parts of every head, then the
// imaginary ones. The gains [K] may both be undefined: then queries and keys are not normalised. `table` has the phases
// of the T positions; position t sees 0 to t. Differentiable in q, k, v and the gains; keeps q, k, v and y for the
// gradient and makes the rest anew.
// Throws Error if the shapes disagree.
torch::Tensor rotary_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& q_gain, const torch::Tensor& k_gain, const RopeTable& table,
                               const RotaryAttentionOptions& options);

// Heads of a width stored as halves: [B, T, 2 H K/2] -> [B, H, T, K], each head again [re | im].
torch::Tensor split_heads(const torch::Tensor& x, std::int64_t num_heads);

// The inverse.
torch::Tensor merge_heads(const torch::Tensor& heads);

}  // namespace crope::ops
