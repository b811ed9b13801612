// Root-mean-square normalisation.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// x / sqrt(mean(x^2) + eps) * gain over the last dimension: x[..., N], gain[N]. The mean is taken in fp32 at least.
// Differentiable in x and gain. Throws Error if the shapes disagree.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps);

}  // namespace crope::ops
