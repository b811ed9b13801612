// Trading time for memory: a stretch of the network whose inner tensors are made again for the gradient.
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace crope::ops {

using TensorFunction = std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>&)>;

// function(inputs), of which only the inputs are kept; the backward pass runs the function once more. The function must
// depend on tensors that need gradients through its inputs alone, and give the same result every time. Inputs may be
// undefined; outputs may not.
std::vector<torch::Tensor> recomputed(const std::vector<torch::Tensor>& inputs, const TensorFunction& function);

}  // namespace crope::ops
