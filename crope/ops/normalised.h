// RMS normalisation of plain tensors, and its gradient: what rms_norm and attention are made of where no kernel of ours
// runs. ATen's fused kernel where the device has one, else a chain of element-wise operations.
#pragma once

#include <torch/types.h>

namespace crope::ops {

struct Normalised {
  torch::Tensor y;      // [..., N], in the type of x
  torch::Tensor scale;  // [..., 1], 1 / sqrt(mean(x^2) + eps) in fp32 at least
};

// x[..., N] / sqrt(mean(x^2) + eps) * gain[N], the mean in fp32 at least.
Normalised normalised(const torch::Tensor& x, const torch::Tensor& gain, double eps);

struct NormGradients {
  torch::Tensor x, gain;  // undefined where not wanted
};

// From the gradient of y, in its shape, and what `normalised` read and made.
NormGradients normalised_backward(const torch::Tensor& grad_y, const torch::Tensor& x, const torch::Tensor& gain,
                                  const torch::Tensor& scale, bool wants_x, bool wants_gain);

}  // namespace crope::ops
