// The residual stream turned towards the complex structure that queries and keys share.
//
// A pair of rows (u, v) is complex-linear under the structure J of the stream when v = J u. The best J for all pairs
// together has a closed form (docs/mathematics.md, section 10). Turned so that J becomes the one of tied projections, a
// dense model is the same function: norms commute with the turn once their gains stand in the matrices behind them.
#pragma once

#include <torch/types.h>

#include <vector>

#include "crope/model/transformer.h"

namespace crope::interop {

// The orthogonal R[D, D] in halves for which matrices[2M, D] R^T lose least when they are tied: the turn of the best
// structure of them all (model/complex_structure.h).
torch::Tensor best_rotation(const std::vector<torch::Tensor>& matrices);

// The model's queries and keys as they see the normalised stream without gains, fp64: what best_rotation is for.
// REQUIRES: a dense model.
std::vector<torch::Tensor> rows_with_gains(const model::Transformer& model);

// A model of the same function in the coordinates R x. The gains of attention_norm, feed_forward_norm and norm
// become 1. An output projection that was the embedding becomes a tensor of its own, V D numbers more: the last gain
// stands between the two. REQUIRES: a dense model, R orthogonal.
model::Transformer rotate_residual(const model::Transformer& model, const torch::Tensor& R);

}  // namespace crope::interop
