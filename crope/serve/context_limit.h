// How long sequences may be so that all that are decoded together fit into memory.
#pragma once

#include <cstdint>

#include "crope/model/config.h"

namespace crope::serve {

struct ContextNeeds {
  std::int64_t sequences = 0;    // decoded together
  std::int64_t kept_tokens = 0;  // of ended sequences
  double free_bytes = 0;         // beside the weights
};

// The longest context, at most the model's window, whose keys and values fit: a quarter of the memory is left for
// everything else. At least kSmallestContext, or the window where that is shorter: a server with less is of no use, and
// memory is taken only as sequences grow.
inline constexpr std::int64_t kSmallestContext = 256;
std::int64_t context_that_fits(const model::ModelConfig& config, const ContextNeeds& needs);

}  // namespace crope::serve
