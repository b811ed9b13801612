// The weight of a linear map: dense, a complex pair or an annealed sum of two, in fp32 or in a type that only inference
// reads. The only place that branches on which; a further type of weight is added here (docs/architecture.md).
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "crope/ops/annealed_weight.h"
#include "crope/ops/block_linear.h"
#include "crope/ops/kernels.h"
#include "crope/ops/quantised_matrix.h"

namespace crope::ops {

struct DenseWeight {
  torch::Tensor weight;  // [out, in]
};

// Dense, or a pair a, b. For inference alone.
struct QuantisedWeight {
  QuantisedMatrix a;
  std::optional<QuantisedMatrix> b;
};

using Weight = std::variant<DenseWeight, ComplexWeight, AnnealedWeight, QuantisedWeight>;

// --- training: differentiable in x and the weights ---
//
// An annealed weight multiplies as its dense matrix: one product of full size, where its two pairs would take one and a
// half.

// y[..., out] from x[..., in]. REQUIRES, for all of this part: the weight is not quantised.
torch::Tensor project(const torch::Tensor& x, const Weight& weight);

// Several maps of the same input, in one operation for each kind of map.
std::vector<torch::Tensor> project_all(const torch::Tensor& x, std::span<const Weight> weights);

template <std::size_t N>
std::array<torch::Tensor, N> project(const torch::Tensor& x, const std::array<Weight, N>& weights) {
  std::vector<torch::Tensor> results = project_all(x, weights);
  std::array<torch::Tensor, N> array;
  std::ranges::move(results, array.begin());
  return array;
}

// The map as a dense [out, in] matrix, in halves.
torch::Tensor dense_matrix(const Weight& weight);

// The weight's tensors, to be read or replaced.
std::vector<torch::Tensor*> tensors_of(Weight& weight);

// --- inference: the weights as they are stored, arithmetic in fp32, nothing differentiable ---

// Whether kernels read tensors of this type.
bool is_weight_type(torch::ScalarType type);

// The weight as kernels read it, without gradients: an annealed one expanded, others with rows without gaps.
Weight stored(const Weight& weight);

// A quantised weight in fp32; others as they are.
Weight widened(const Weight& weight);

// Rows ids[...] of a dense weight, [..., in]; quantised ones in fp32.
torch::Tensor look_up(const Weight& weight, const torch::Tensor& ids);

// REQUIRES: the weight is stored().
WeightView view(const Weight& weight);

// Outputs [first, first + count) of a stored dense weight. REQUIRES: 16 divides `first`.
Weight narrow_outputs(const Weight& weight, std::int64_t first, std::int64_t count);

// y = weight(x), or y += weight(x), of many rows: x[R, in], y[R, out], fp32, columns side by side. A few rows are the
// business of the kernel linear_rows.
void multiply_rows(const Weight& weight, const torch::Tensor& x, const torch::Tensor& y, Output output);

}  // namespace crope::ops
