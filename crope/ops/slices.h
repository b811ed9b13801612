// Tensors that are columns of one wider matrix: how Q, K and V, and gate and up, leave a shared product, and how their
// gradients enter its gradient as one matrix again, without a copy.
#pragma once

#include <torch/types.h>

#include <optional>
#include <vector>

namespace crope::ops {

// x[..., N] as [rows, N] with neighbouring columns side by side; a view where strides allow it. Differentiable.
torch::Tensor as_rows(const torch::Tensor& x);

// Uninitialised tensors of the shapes given. Where the originals are columns of the rows of one matrix, these are the
// same columns of a new one; else each is on its own, without gaps.
std::vector<torch::Tensor> empty_like_slices(const std::vector<torch::Tensor>& originals);

// The matrix [R, N1 + N2 + ...] whose neighbouring columns these [R, Ni] are, in order; nothing if they are not.
std::optional<torch::Tensor> joined_columns(const std::vector<torch::Tensor>& slices);

}  // namespace crope::ops
