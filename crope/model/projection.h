// A linear map of the network, dense or complex-linear. The only place that branches on which.
#pragma once

#include <torch/types.h>

#include <array>
#include <variant>

#include "crope/ops/block_linear.h"

namespace crope::model {

struct DenseWeight {
  torch::Tensor weight;  // [out, in]
};

using Projection = std::variant<DenseWeight, ops::ComplexWeight>;

// y[..., out] from x[..., in].
torch::Tensor project(const torch::Tensor& x, const Projection& projection);

// Several maps of the same input.
std::array<torch::Tensor, 3> project(const torch::Tensor& x, const std::array<Projection, 3>& projections);

// The map as a dense [out, in] matrix, in halves.
torch::Tensor dense_matrix(const Projection& projection);

}  // namespace crope::model
