// The most likely tokens of a row of logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace crope::infer {

struct TokenProbability {
  std::int32_t id;
  double log_probability;
};

// The `count` largest, most likely first, the first of several that are equal before the others. A logit less
// `normalizer`, the log-sum-exp of the row, is its log-probability; one that is not a number comes last.
std::vector<TokenProbability> top_tokens(std::span<const float> logits, std::int64_t count, double normalizer);

}  // namespace crope::infer
