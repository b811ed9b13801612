// Products of a few rows with a large matrix, which is read once from memory for all of them: what decoding does.
//
// Weights are fp32 or bf16; arithmetic is fp32. The result of a row does not depend on how many rows there are.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

enum class WeightType { fp32, bf16 };

// W[M, N], dense rows.
struct WeightRows {
  const void* data;
  WeightType type;
  std::int64_t M;
  std::int64_t N;
};

// R rows of floats that are `stride` apart.
struct InputRows {
  const float* data;
  std::int64_t stride;
  std::int64_t R;
};
struct OutputRows {
  float* data;
  std::int64_t stride;
};

enum class Output { overwrite, add };

// y[r, m] = sum over n of x[r, n] W[m, n], for m from `begin` to `end`: threads share a product by ranges of m.
void skinny_product(const InputRows& x, const WeightRows& weight, std::int64_t begin, std::int64_t end, OutputRows y,
                    Output output);

// The complex-linear layer (ops/block_linear): x[r, 2N] and y[r, 2M] in halves, and for m from `begin` to `end`
//   y[r, m] = a[m] . x_re + b[m] . x_im,   y[r, M + m] = a[m] . x_im - b[m] . x_re.
// REQUIRES: a and b have the same shape and type.
void skinny_complex_product(const InputRows& x, const WeightRows& a, const WeightRows& b, std::int64_t begin,
                            std::int64_t end, OutputRows y, Output output);

}  // namespace crope::ops::cpu
