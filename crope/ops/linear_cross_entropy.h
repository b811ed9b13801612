// The output projection and the loss as one operation. The matrix of all logits, [tokens, V], is the largest tensor of
// a language model and is never made: rows are taken in chunks, and each chunk's gradients are made at once.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// The mean over rows of -log softmax(x W^T)[target]: x[R, D], weight[V, D], targets[R] int64.
// Differentiable in x and weight (once). Throws Error if the shapes disagree or there are no rows.
// REQUIRES: 0 <= targets < V.
torch::Tensor linear_cross_entropy(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& targets);

// The losses of the rows, without gradients: [R] in fp32 or wider.
torch::Tensor linear_token_losses(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& targets);

}  // namespace crope::ops
