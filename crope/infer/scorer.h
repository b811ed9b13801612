// Log-likelihoods of continuations, as lm_eval defines them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "crope/base/choice.h"
#include "crope/model/transformer.h"

namespace crope::infer {

struct ScoreRequest {
  std::vector<std::int32_t> context;       // not empty
  std::vector<std::int32_t> continuation;  // not empty, at most max_seq_len tokens
};

struct Score {
  double log_likelihood;  // of the continuation given the context, natural logarithm
  bool is_greedy;         // whether each of its tokens is the most likely one at its place
};

enum class ScoreEngine {
  automatic,  // cached on the CPU, torch on other devices
  cached,     // our kernels, shared beginnings computed once; CPU only
  torch,      // the forward pass of training, on the model's device
};

struct ScorerOptions {
  std::int64_t batch_tokens = 4096;  // computed in one pass over the weights
  ScoreEngine engine = ScoreEngine::automatic;
};

// The input is the last max_seq_len + 1 tokens of (context + continuation) without the very last, from position 0 on,
// as in lm_eval's HF model. Beginnings that inputs share, such as the context of several continuations or
// the examples before several questions, are computed once. Scores come in an order of the scorer's choosing, each as
// soon as it is known; on_score may throw to end the work.
// Throws UsageError naming the request if it is empty, too long, or has an id that the model does not have.
void score_requests(const model::Transformer& model, std::span<const ScoreRequest> requests,
                    const ScorerOptions& options, const std::function<void(std::size_t, const Score&)>& on_score);

}  // namespace crope::infer

template <>
struct crope::ChoiceNames<crope::infer::ScoreEngine> {
  using Kind = infer::ScoreEngine;
  static constexpr auto kNames =
      choice_names<Kind>({{Kind::automatic, "auto"}, {Kind::cached, "cached"}, {Kind::torch, "torch"}});
};
