// The gate of the feed-forward layer.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// silu(gate) * up, of equal shapes. Keeps only its two inputs for the gradient. Throws Error if the shapes disagree.
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);

}  // namespace crope::ops
