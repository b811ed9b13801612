// A complex-linear map plus a fading conjugate-linear one.
//
// Any real matrix is exactly W x = U x + V conj(x), with U and V complex (docs/mathematics.md, section 2). An annealed
// weight keeps both and counts V by a factor: at 1 it is the dense matrix, at 0 the tied one.
#pragma once

#include <torch/types.h>

#include "crope/ops/block_linear.h"

namespace crope::ops {

// y = U x + scale V conj(x): each of U = a - ib and V likewise is a pair [M, N].
struct AnnealedWeight {
  ComplexWeight linear;     // U
  ComplexWeight conjugate;  // V
  double scale = 1;
};

// The dense [2M, 2N] matrix of the sum. Differentiable in all four tensors.
torch::Tensor annealed_matrix(const AnnealedWeight& weight);

// The weight with annealed_matrix(split(dense)) == dense up to rounding, and scale 1. U is contract(dense).
AnnealedWeight split(const torch::Tensor& dense);

}  // namespace crope::ops
