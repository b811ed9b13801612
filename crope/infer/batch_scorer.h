// Log-likelihoods of continuations by the model's own forward pass, on any device: rows of similar length side by side,
// padded on the right. What scorer.h computes without a cache, for devices that the cached engine has no kernels for.
#pragma once

#include "crope/infer/scorer.h"

namespace crope::infer {

// The contract of score_requests, for requests that are already checked.
void score_in_batches(const model::Transformer& model, std::span<const ScoreRequest> requests,
                      const ScorerOptions& options, const std::function<void(std::size_t, const Score&)>& on_score);

}  // namespace crope::infer
