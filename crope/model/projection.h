// A linear map of the network, dense or complex-linear. The only place that branches on which.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <span>
#include <variant>
#include <vector>

#include "crope/ops/block_linear.h"

namespace crope::model {

struct DenseWeight {
  torch::Tensor weight;  // [out, in]
};

using Projection = std::variant<DenseWeight, ops::ComplexWeight>;

// y[..., out] from x[..., in].
torch::Tensor project(const torch::Tensor& x, const Projection& projection);

// Several maps of the same input, in one operation for each kind of map.
std::vector<torch::Tensor> project_all(const torch::Tensor& x, std::span<const Projection> projections);

template <std::size_t N>
std::array<torch::Tensor, N> project(const torch::Tensor& x, const std::array<Projection, N>& projections) {
  std::vector<torch::Tensor> results = project_all(x, projections);
  std::array<torch::Tensor, N> array;
  std::ranges::move(results, array.begin());
  return array;
}

// The map as a dense [out, in] matrix, in halves.
torch::Tensor dense_matrix(const Projection& projection);

}  // namespace crope::model
