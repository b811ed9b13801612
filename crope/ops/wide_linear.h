// Layers of one input as one product: the plan for devices that take their orders one by one (device.h), and for tied
// layers so narrow that three small products cost more than a large one. Dense and tied layers stand below each other
// in one matrix, pairs expanded, which is made once a step (derived_weights.h).
#pragma once

#include <torch/types.h>

#include <vector>

namespace crope::ops {

// y_i[..., M_i] from x[..., N] for each layer: {W[M_i, N]}, or a pair {a, b} of [M_i/2, N/2]. The products are in the
// type of x; where that is narrower than a weight, the weight's gradient has the weight's own type, and a pair's is
// summed in it: the gradient of a tied layer is rounded as often as that of a dense one. The results are columns of one
// matrix. Differentiable in all. `name` is the operation in a profile. REQUIRES: shapes that agree.
std::vector<torch::Tensor> wide_linear(const char* name, const torch::Tensor& x,
                                       const std::vector<std::vector<torch::Tensor>>& layers);

}  // namespace crope::ops
