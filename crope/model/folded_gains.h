// Projections with the gains of the norms around them multiplied in (docs/mathematics.md, section 8).
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "crope/model/transformer.h"

namespace crope::model {

// The gains of the norms around a projection, in halves. An undefined gain is absent.
struct SurroundingGains {
  torch::Tensor input;  // [2N]: of the norm before it
  torch::Tensor head;   // [K]: of the norm after it, the same for every head; K divides 2M
};

// diag(head gains) W diag(input gain) in fp64, for dense[2M, 2N]: up to one positive number per head and token, the map
// from x / rms(x) to what attention reads.
torch::Tensor fold_gains(const torch::Tensor& dense, const SurroundingGains& gains);

// The gains around projection 'q', 'k' or 'v' of a layer: attention_norm, and q_norm or k_norm.
SurroundingGains surrounding_gains(const Transformer& model, std::int64_t layer, char projection);

// Projection 'q', 'k' or 'v' of a layer as a dense matrix [2M, D] with its gains folded in, in fp64.
torch::Tensor folded_projection(const Transformer& model, std::int64_t layer, char projection);

}  // namespace crope::model
