// Rows of the embedding, where the embedding is also the output projection.
#pragma once

#include <torch/types.h>

namespace crope::ops {

// Rows of weight[V, D] for ids[...], and the weight again for its second use. What comes back as the gradient of
// `weight` gets the rows' gradients added in place: no second [V, D] is made. Differentiable in the weight.
// REQUIRES: 0 <= ids < V.
struct TiedEmbedding {
  torch::Tensor rows;    // [..., D]
  torch::Tensor weight;  // [V, D], the same memory
};
TiedEmbedding tied_embedding(const torch::Tensor& weight, const torch::Tensor& ids);

}  // namespace crope::ops
