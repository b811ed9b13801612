// Multi-head attention with per-head QK-norm and rotary positions.
#pragma once

#include <torch/types.h>

#include <array>

#include "crope/model/projection.h"
#include "crope/ops/rope.h"
#include "crope/ops/rotary_attention.h"

namespace crope::model {

struct Attention {
  std::array<Projection, 3> qkv;  // D -> H K, H K, H Kv
  Projection o;                   // H Kv -> D
  torch::Tensor q_norm;           // [K] or [K/2] (norm_gain.h); undefined in a model without QK-norm
  torch::Tensor k_norm;           // likewise
  std::int64_t num_heads;
  double norm_eps;
};

using ops::merge_heads;
using ops::split_heads;

// y[B, T, D] from x[B, T, D]; position t sees positions 0 to t.
torch::Tensor forward(const Attention& attention, const torch::Tensor& x, const ops::RopeTable& positions);

}  // namespace crope::model
