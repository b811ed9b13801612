// The output projection and the loss of learning from a teacher as one operation, in chunks of rows as in
// linear_cross_entropy.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace crope::ops {

struct DistillationOptions {
  double weight = 0.5;     // share of the teacher, from 0 to 1; the targets have the rest
  double temperature = 1;  // divides the logits of both in the teacher's part
  std::int64_t top_k = 0;  // only the teacher's k most likely tokens, renormalised; 0: all
};

// A teacher's final features and output projection.
struct TaughtRows {
  torch::Tensor x;       // [R, E]
  torch::Tensor weight;  // [V, E]
};

// The mean over rows of (1 - w) CE + w t^2 KL(p || q), with logits z = x W^T:
//   CE = -log softmax(z)[target], q = softmax(z / t), p = softmax of the teacher's logits / t.
// The factor t^2 keeps the size of the gradient (Hinton et al. 2015). x[R, D], weight[V, D], targets[R] int64.
// Differentiable in x and weight (once). Throws Error if the shapes disagree or there are no rows.
// REQUIRES: 0 <= targets < V, 0 <= w <= 1, t > 0, top_k >= 0.
torch::Tensor linear_distillation(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& targets,
                                  const TaughtRows& teacher, const DistillationOptions& options);

}  // namespace crope::ops
