// The SwiGLU feed-forward layer: down(silu(gate x) * up x).
#pragma once

#include <torch/types.h>

#include "crope/ops/weight.h"

namespace crope::model {

struct FeedForward {
  ops::Weight gate;  // D -> F
  ops::Weight up;    // D -> F
  ops::Weight down;  // F -> D
};

// The input of the down projection: [B, T, F] from x[B, T, D].
torch::Tensor gated(const FeedForward& layer, const torch::Tensor& x);

// y[B, T, D] from x[B, T, D]: gated() and the down projection.
torch::Tensor forward(const FeedForward& layer, const torch::Tensor& x);

}  // namespace crope::model
