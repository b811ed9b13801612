// The prediction of the next token after each layer: the loss of its output under the final norm and the output
// projection ("early exit").
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "crope/model/transformer.h"

namespace crope::analysis {

struct LayerLosses {
  std::int64_t tokens = 0;     // predicted
  std::vector<double> losses;  // [num_layers + 1], mean nats a token: of the embedding, then behind each block
};

// Over rows of ids [1, T], T > 1; the last loss is the model's. Throws Error if a row is longer than the window.
// REQUIRES: 0 <= ids < V, at least one row.
LayerLosses layer_losses(const model::Transformer& model, std::span<const torch::Tensor> rows);

}  // namespace crope::analysis
