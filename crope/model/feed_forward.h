// The SwiGLU feed-forward layer: down(silu(gate x) * up x).
#pragma once

#include <torch/types.h>

#include "crope/model/projection.h"

namespace crope::model {

struct FeedForward {
  Projection gate;  // D -> F
  Projection up;    // D -> F
  Projection down;  // F -> D
};

// y[B, T, D] from x[B, T, D].
torch::Tensor forward(const FeedForward& layer, const torch::Tensor& x);

}  // namespace crope::model
