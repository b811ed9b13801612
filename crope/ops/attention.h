// Softmax attention of all heads.
#pragma once

#include <torch/types.h>

namespace crope::ops {

enum class Mask { none, causal };

struct AttentionOptions {
  double scale;  // of the scores; 1/sqrt(K) in the model
  Mask mask = Mask::causal;
};

// out[B, H, T, Kv] from q[B, H, T, K], k[B, H, T, K], v[B, H, T, Kv], by ATen's fused kernel, which never holds the
// T x T scores. That kernel wants K == Kv: the narrower of the two is filled up with zeros, which changes no score.
// Differentiable in q, k and v. Throws Error if the shapes disagree.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const AttentionOptions& options);

}  // namespace crope::ops
