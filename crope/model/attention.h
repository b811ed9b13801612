// Multi-head attention with per-head QK-norm and rotary positions.
#pragma once

#include <torch/types.h>

#include <array>

#include "crope/model/config.h"
#include "crope/ops/rope.h"
#include "crope/ops/rotary_attention.h"
#include "crope/ops/weight.h"

namespace crope::model {

struct Attention {
  std::array<ops::Weight, 3> qkv;  // D -> H K, G K, G Kv
  ops::Weight o;                   // H Kv -> D
  torch::Tensor q_norm;            // [K] or [K/2] (norm_gain.h); undefined in a model without QK-norm
  torch::Tensor k_norm;            // likewise
  std::int64_t num_heads;          // H
  std::int64_t num_kv_heads;       // G
  double norm_eps;
};

using ops::merge_heads;
using ops::split_heads;

// The factor on the scores of heads of width K.
double attention_scale(std::int64_t K);

// The phases of positions 0 to T - 1, in the type and on the device of `options`. The one place that turns a
// configuration into phases.
ops::RopeTable rope_table(const ModelConfig& config, std::int64_t T, const torch::TensorOptions& options);

// The input of the output projection: [B, T, H Kv] from x[B, T, D]; position t sees positions 0 to t.
torch::Tensor attend(const Attention& attention, const torch::Tensor& x, const ops::RopeTable& positions);

// y[B, T, D] from x[B, T, D]: attend() and the output projection.
torch::Tensor forward(const Attention& attention, const torch::Tensor& x, const ops::RopeTable& positions);

}  // namespace crope::model
