// Dense projections without bias, several of the same input at once.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

namespace crope::ops {

// y_i[..., M_i] = x W_i' from x[..., N] and each W_i[M_i, N]. The results are columns of one matrix; where their
// gradients come back as such (slices.h), so are the products with them. Differentiable in all.
// Throws Error if the shapes disagree.
std::vector<torch::Tensor> linear(const torch::Tensor& x, std::span<const torch::Tensor> weights);

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace crope::ops
