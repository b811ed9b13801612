// A model block by block, without gradients: what each projection reads, and the residual stream behind each block.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "crope/model/transformer.h"

namespace crope::model {

struct BlockTrace {
  torch::Tensor attention_input;     // [B, T, D], normalised: what q, k and v read
  torch::Tensor o_input;             // [B, T, H Kv]
  torch::Tensor feed_forward_input;  // [B, T, D], normalised: what gate and up read
  torch::Tensor down_input;          // [B, T, F]
  torch::Tensor output;              // [B, T, D], the residual stream behind the block
};

// The residual stream in front of the first block: [B, T, D] from ids[B, T].
// Throws Error if T is 0 or more than max_seq_len. REQUIRES: 0 <= ids < V.
torch::Tensor embed(const Transformer& model, const torch::Tensor& ids);

// Block `layer` on the residual stream h[B, T, D]. REQUIRES: 0 <= layer < num_layers, 1 <= T <= max_seq_len.
BlockTrace trace_block(const Transformer& model, std::int64_t layer, const torch::Tensor& h);

}  // namespace crope::model
