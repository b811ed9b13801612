// Newton-Schulz iteration towards the polar factor of a matrix: Muon's update (docs/mathematics.md, section 6).
//
//   X <- X / max(||X||, eps), then five times X <- c0 X + (c1 S + c2 S^2) X with S = X X^T.
//
// The result has singular values near 1 and the singular vectors of the input.
#pragma once

#include <torch/types.h>

#include <array>

#include "crope/ops/block_linear.h"

namespace crope::ops {

struct NewtonSchulzOptions {
  int steps = 5;
  std::array<double, 3> coefficients = {3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
};

// x[R, C] of any shape; computes in the type of x. Not differentiable.
torch::Tensor newton_schulz(const torch::Tensor& x, const NewtonSchulzOptions& options = {});

// newton_schulz() of the complex matrix of a tied pair, a[M, N] and b[M, N]. It equals
// contract(newton_schulz(expand(pair))), at a third of the multiplications and without the expanded matrix.
ComplexWeight newton_schulz(const ComplexWeight& pair, const NewtonSchulzOptions& options = {});

// newton_schulz() of n matrices at once, x[n, R, C], by batched products of ATen: few launches on a device that takes
// them one by one. Each result equals newton_schulz's up to rounding.
torch::Tensor newton_schulz_batch(const torch::Tensor& x, const NewtonSchulzOptions& options = {});

// newton_schulz() of n pairs at once, a[n, M, N] and b[n, M, N].
ComplexWeight newton_schulz_batch(const ComplexWeight& pairs, const NewtonSchulzOptions& options = {});

// Operations of the products that it needs on one matrix [R, C], or on a pair of them: of a symmetric product, half.
enum class MatrixKind { real, pair };
double newton_schulz_flops(int64_t R, int64_t C, MatrixKind kind, const NewtonSchulzOptions& options);

}  // namespace crope::ops
