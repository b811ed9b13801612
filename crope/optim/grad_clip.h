// The size of the whole gradient, and a bound on it.
#pragma once

#include <torch/types.h>

#include <span>

namespace crope::optim {

// The norm of all gradients as one vector; tensors without one count as zero.
double gradient_norm(std::span<const torch::Tensor> parameters);

// Scales all gradients in place so that their norm is at most `max_norm`, as torch.nn.utils.clip_grad_norm_ does, and
// returns the norm before. A norm that is not finite changes nothing: the caller decides. REQUIRES: max_norm > 0.
double clip_gradient_norm(std::span<const torch::Tensor> parameters, double max_norm);

}  // namespace crope::optim
