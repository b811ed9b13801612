// Root-mean-square normalisation.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// x / sqrt(mean(x^2) + eps) * gain over the last dimension: x[..., N], gain[N]. The mean is taken in fp32 at least.
// Differentiable in x and gain. Throws Error if the shapes disagree.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps);

// The sum s = x + added, of one shape, and rms_norm(s, gain, eps): a residual connection and the norm that follows it.
// Differentiable in all three. The sum has the wider type of the two.
struct SumAndNorm {
  torch::Tensor sum;
  torch::Tensor norm;
};
SumAndNorm add_rms_norm(const torch::Tensor& x, const torch::Tensor& added, const torch::Tensor& gain, double eps);

}  // namespace crope::ops
