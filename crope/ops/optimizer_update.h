// The element-wise passes of the optimisers, each over memory once where the device has a kernel for it. None is
// differentiable; all tensors of a call have one shape.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// One step of AdamW, number `steps` from 1 on, in place on value, first and second.
struct AdamwStep {
  double lr, beta1, beta2, eps, weight_decay;
  std::int64_t steps;
};
void adamw_step(const torch::Tensor& value, const torch::Tensor& grad, const torch::Tensor& first,
                const torch::Tensor& second, const AdamwStep& step);

// buffer <- momentum buffer + (1 - momentum) grad, in place. Returns (1 - momentum) grad + momentum buffer with
// Nesterov's look-ahead, else the buffer's value.
struct MomentumOptions {
  double momentum;
  bool nesterov;
  bool in_torch_order = false;  // rounds as torch.optim.Muon does, by ATen's operations
};
torch::Tensor momentum_step(const torch::Tensor& buffer, const torch::Tensor& grad, const MomentumOptions& options);

// value <- keep value - rate direction, in place.
void decay_and_subtract(const torch::Tensor& value, const torch::Tensor& direction, double keep, double rate);

// The sum of the squares of all numbers of x. Its value does not depend on the number of threads.
double sum_of_squares(const torch::Tensor& x);

}  // namespace crope::ops
