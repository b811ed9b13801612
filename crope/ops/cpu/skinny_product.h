// Products of a few rows with a large matrix, which is read once from memory for all of them: what decoding does.
//
// Weights are fp32 or bf16; arithmetic is fp32. The result of a row does not depend on how many rows there are.
#pragma once

#include <cstdint>

#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

// y[r, m] = sum over n of x[r, n] W[m, n], for m from `begin` to `end`: threads share a product by ranges of m.
void skinny_product(const ConstMatrix& x, const WeightMatrix& weight, std::int64_t begin, std::int64_t end,
                    const Matrix& y, Output output);

// The complex-linear layer (ops/block_linear): x[r, 2N] and y[r, 2M] in halves, and for m from `begin` to `end`
//   y[r, m] = a[m] . x_re + b[m] . x_im,   y[r, M + m] = a[m] . x_im - b[m] . x_re.
// REQUIRES: a and b have the same shape and type.
void skinny_complex_product(const ConstMatrix& x, const WeightMatrix& a, const WeightMatrix& b, std::int64_t begin,
                            std::int64_t end, const Matrix& y, Output output);

}  // namespace crope::ops::cpu
