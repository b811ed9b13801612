// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "crope/base/random.h"
#include "crope/ops/row_maximum.h"

namespace crope::infer {

// Applied in this order, as in transformers: repetition penalty, temperature, top-k, top-p, min-p.
struct SamplingOptions {
  double temperature = 0;         // 0 takes the most likely token, the first of several
  std::int64_t top_k = 0;         // only the k most likely; 0: all
  double top_p = 1;               // only the fewest most likely whose probabilities reach p
  double min_p = 0;               // only those with at least this share of the largest probability
  double repetition_penalty = 1;  // logits of tokens that were there: divided by it if positive, else multiplied
  std::uint64_t seed = 0;
};

// Throws UsageError naming the option that makes no sense.
void validate(const SamplingOptions& options);

// The choices of one sequence. The same options, prompt and logits give the same tokens.
class TokenSampler {
 public:
  // `prompt` counts for the repetition penalty. Throws UsageError on options that make no sense.
  TokenSampler(const SamplingOptions& options, std::span<const std::int32_t> prompt);

  // The next token, which from then on counts for the penalty. `logits` [V] are not empty; penalty and temperature
  // change them in place. A logit that is not a number is never chosen unless all are none; then the token is 0.
  std::int32_t sample(std::span<float> logits);

 private:
  using Candidate = std::pair<float, std::int32_t>;  // logit over temperature, id

  void penalise(std::span<float> logits) const;
  float lowest_of_interest(const ops::RowMaximum& row, std::size_t V) const;
  std::int32_t draw(double whole);

  SamplingOptions options_;
  RandomStream random_;
  std::unordered_set<std::int32_t> seen_;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace crope::infer
