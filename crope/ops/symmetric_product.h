// Products that are known to be symmetric.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// x x^T [R, R] of x[R, C]. Only panels on and below the diagonal are multiplied; the rest is mirrored. Exactly
// symmetric. Not differentiable.
torch::Tensor symmetric_product(const torch::Tensor& x);

}  // namespace crope::ops
