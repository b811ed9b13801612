// The cost of running a model, from its shape alone.
#pragma once

#include <cstdint>

#include "crope/model/config.h"
#include "crope/ops/kernels.h"

namespace crope::model {

struct Cost {
  // Multiplications and additions of matrix products. A tied projection counts as the three real products it takes.
  double forward_flops;
  double training_flops;  // forward and backward: the gradients of a product are two more of its size
  // Bytes of keys and values that one token adds to the cache, at 4 bytes each.
  double cache_bytes;
};

// Average cost of a token in a sequence of T tokens under the causal mask.
Cost cost_per_token(const ModelConfig& config, std::int64_t T);

// Bytes of the weights in memory, all of which decoding one token reads. Embedding and output of int4 are int8.
double weight_bytes(const ModelConfig& config, ops::WeightType type);

}  // namespace crope::model
