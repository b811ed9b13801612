// Mixed precision for operations with gradients by hand. ATen's autocast rewrites ATen calls and does not see into
// them, so they ask here for the type that it would have chosen.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// x in autocast's type where autocast is on for its device and x is fp32, else x itself. Differentiable.
torch::Tensor autocast_input(const torch::Tensor& x);

// `weight` in the type of autocast_input(x), through autocast's cache: it is cast once in each forward pass.
torch::Tensor autocast_weight(const torch::Tensor& weight, const torch::Tensor& x);

// Whether autocast casts `weight` for products with x.
bool is_cast_by_autocast(const torch::Tensor& weight, const torch::Tensor& x);

}  // namespace crope::ops
