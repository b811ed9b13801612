// A linear map of the model as inference reads it: its weights as they are, fp32 or bf16, dense or a pair (a, b), which
// is never expanded.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "crope/model/projection.h"
#include "crope/ops/cpu/skinny_product.h"

namespace crope::infer {

using ops::cpu::InputRows;
using ops::cpu::Output;
using ops::cpu::OutputRows;

struct LinearMap {
  torch::Tensor weight;  // [out, in], or a [out/2, in/2] of a pair
  torch::Tensor b;       // [out/2, in/2]; undefined in a dense map

  bool is_pair() const { return b.defined(); }
  std::int64_t in() const { return weight.size(1) * (is_pair() ? 2 : 1); }
  std::int64_t out() const { return weight.size(0) * (is_pair() ? 2 : 1); }

  // What threads share a product by: rows of the matrix, or rows of a and b together. All have `in` weights.
  std::int64_t units() const { return weight.size(0); }
};

// Shares the weights. They must be on the CPU, fp32 or bf16.
LinearMap linear_map(const torch::Tensor& weight);
LinearMap linear_map(const model::Projection& projection);

// The units [begin, end) of y = map(x), or of y += map(x), for a few rows x[R, in]: reads the weights once.
void multiply_units(const LinearMap& map, const InputRows& x, std::int64_t begin, std::int64_t end, OutputRows y,
                    Output output);

// The whole of y = map(x), or of y += map(x), for many rows: x[R, in], y[R, out], rows of each dense.
void multiply_rows(const LinearMap& map, const torch::Tensor& x, const torch::Tensor& y, Output output);

}  // namespace crope::infer
