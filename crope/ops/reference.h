// The specification: each operation written as a chain of plain ATen calls, with gradients by autograd. Slow and large,
// obviously right, and the same on every device. Tests hold the operations of this folder against these.
#pragma once

#include <torch/types.h>

#include "crope/ops/attention.h"
#include "crope/ops/block_linear.h"
#include "crope/ops/linear_distillation.h"
#include "crope/ops/newton_schulz.h"
#include "crope/ops/rotary_attention.h"

namespace crope::ops::reference {

// x W^T.
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight);

// Rows of weight[V, D] for ids[...], as a product with their one-hot vectors.
torch::Tensor embedding(const torch::Tensor& weight, const torch::Tensor& ids);

// x W^T with the expanded matrix W.
torch::Tensor block_linear(const torch::Tensor& x, const ComplexWeight& weight);

// Complex multiplication of the pairs by e^(i m theta_j), on complex tensors. positions[T], x[..., T, K] in halves.
torch::Tensor rope(const torch::Tensor& x, const torch::Tensor& positions, double base);

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps);

torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);

// With the whole [T, T] matrix of scores.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const AttentionOptions& options);

// Head by head: QK-norm where there are gains, rope at positions[T], attention.
torch::Tensor rotary_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& q_gain, const torch::Tensor& k_gain, const torch::Tensor& positions,
                               double rope_base, const RotaryAttentionOptions& options);

// With the whole [R, V] matrix of logits.
torch::Tensor linear_cross_entropy(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& targets);

// With both [R, V] matrices of logits.
torch::Tensor linear_distillation(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& targets,
                                  const TaughtRows& teacher, const DistillationOptions& options);

// The iteration as it is written, whatever the shape.
torch::Tensor newton_schulz(const torch::Tensor& x, const NewtonSchulzOptions& options = {});

// On the expanded matrix.
ComplexWeight newton_schulz(const ComplexWeight& pair, const NewtonSchulzOptions& options = {});

}  // namespace crope::ops::reference
