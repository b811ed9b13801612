// The steps of an attention layer on q, k and v before the scores, as one operation of few launches: the plan for
// devices that take their orders one by one (device.h).
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "crope/ops/rope.h"

namespace crope::ops {

struct AttentionHeads {
  torch::Tensor q, k;  // [B, H, T, K] and [B, G, T, K]; a head's features are pairs (re, im), neighbours in memory
  torch::Tensor v;     // [B, G, T, Kv]; a head's features are halves [re | im]
};

// From q[B, T, H K], k[B, T, G K] and v[B, T, G Kv] in halves. Queries and keys are normalised if there are gains [K],
// and rotated by the phases of `table`. Both take the same order of features, so scores are those of halves.
// Differentiable in q, k, v and the gains. REQUIRES: shapes that agree, and both gains or none.
AttentionHeads attention_heads(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& q_gain, const torch::Tensor& k_gain, const RopeTable& table,
                               std::int64_t H, std::int64_t G, double eps);

}  // namespace crope::ops
