// The weights of a new model.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "crope/model/transformer.h"

namespace crope::model {

// The paper does not give its initialisation; these are our choices.
struct InitOptions {
  std::uint64_t seed = 0;
  double embedding_std = 0.02;
  // Standard deviation of a projection times sqrt(real fan-in). a and b are drawn alike, which gives a tied layer the
  // output variance of a dense one (docs/mathematics.md, section 5).
  double projection_gain = 1.0;
};

// Normal weights and gains of 1. Every parameter has a random stream of its own, named after it, so that the same
// seed gives the same weights on every machine and with any number of threads.
// Throws UsageError if the configuration is impossible.
Transformer make_random_transformer(const ModelConfig& config, const InitOptions& options = {},
                                    const torch::TensorOptions& tensor_options = {});

}  // namespace crope::model
