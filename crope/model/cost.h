// What a model costs to run, from its shape alone.
#pragma once

#include <cstdint>

#include "crope/model/config.h"

namespace crope::model {

struct Cost {
  // Multiplications and additions of matrix products. A tied projection counts as the three real products it takes.
  double forward_flops;
  double training_flops;  // forward and backward: the gradients of a product are two more of its size
  // Bytes that decoding one token reads at 4 bytes a weight, without the cache.
  double weight_bytes;
  // Bytes of keys and values that one token adds to the cache, at 4 bytes each.
  double cache_bytes;
};

// Average cost of a token in a sequence of T tokens under the causal mask.
Cost cost_per_token(const ModelConfig& config, std::int64_t T);

}  // namespace crope::model
