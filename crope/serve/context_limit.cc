#include "crope/serve/context_limit.h"

#include <algorithm>

#include "crope/model/cost.h"

namespace crope::serve {

std::int64_t context_that_fits(const model::ModelConfig& config, const ContextNeeds& needs) {
  const double token_bytes = model::cost_per_token(config, config.max_seq_len).cache_bytes;
  const double tokens = 0.75 * needs.free_bytes / token_bytes - static_cast<double>(needs.kept_tokens);
  // A growing sequence has room for up to twice its tokens.
  const double each = std::max(tokens, 0.0) / (2 * static_cast<double>(needs.sequences));
  const std::int64_t smallest = std::min(kSmallestContext, config.max_seq_len);
  if (each >= static_cast<double>(config.max_seq_len)) return config.max_seq_len;
  return std::max(smallest, static_cast<std::int64_t>(each));
}

}  // namespace crope::serve
