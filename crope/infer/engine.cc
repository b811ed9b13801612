#include "crope/infer/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "crope/base/error.h"
#include "crope/infer/engine_sequence.h"
#include "crope/infer/prefix_tree.h"

namespace crope::infer {

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::window:
      return "window";
    case FinishReason::end_token:
      return "end_token";
    case FinishReason::memory:
      return "memory";
    case FinishReason::none:
      break;
  }
  return "none";
}

Engine::Engine(const model::Transformer& model, const EngineOptions& options) : decoder_(model), options_(options) {
  if (options.prefill_tokens < 1) {
    throw UsageError(fmt::format("prefill_tokens: expected a number from 1, got {}", options.prefill_tokens));
  }
  if (options.speculate < 0 || options.speculate > kMostSpeculation) {
    throw UsageError(
        fmt::format("speculate: expected a number from 0 to {}, got {}", kMostSpeculation, options.speculate));
  }
}

Engine::~Engine() = default;

std::int64_t Engine::admit(SequenceRequest request) {
  const model::ModelConfig& config = decoder_.config();
  if (request.prompt.empty()) throw UsageError("the prompt is empty", "give at least one token");
  const bool only_scores = request.max_tokens == 0 && request.scores_prompt && request.prompt.size() > 1;
  if (static_cast<std::int64_t>(request.prompt.size()) > config.max_seq_len + (only_scores ? 1 : 0)) {
    throw UsageError(fmt::format("a prompt of {} tokens: this model's window has {} (max_seq_len)",
                                 request.prompt.size(), config.max_seq_len),
                     "shorten the prompt");
  }
  if (request.max_tokens < 1 && !only_scores) {
    throw UsageError(fmt::format("max_tokens: expected a number from 1, got {}", request.max_tokens));
  }
  if (request.scores_prompt && request.top_log_probabilities < 0) {
    throw UsageError("scoring a prompt needs a request for log-probabilities");
  }
  for (std::size_t i = 0; i < request.prompt.size(); ++i) {
    if (request.prompt[i] >= 0 && request.prompt[i] < config.vocab_size) continue;
    throw UsageError(fmt::format("token {} of the prompt is {}, outside the vocabulary of {} (0 to {})", i,
                                 request.prompt[i], config.vocab_size, config.vocab_size - 1));
  }
  request.max_tokens = std::min(request.max_tokens, config.max_seq_len + 1);
  TokenSampler sampler(request.sampling, request.prompt);
  std::vector<std::int32_t> ids = request.prompt;
  if (only_scores) ids.pop_back();
  sequences_.push_back({next_number_, std::move(request), std::move(sampler), decoder_.make_cache(), std::move(ids),
                        NgramDraft(options_.speculate)});
  return next_number_++;
}

void Engine::remove(std::int64_t number) {
  for (auto sequence = sequences_.begin(); sequence != sequences_.end(); ++sequence) {
    if (sequence->number != number) continue;
    // Gone in any case, also if there is no memory to note it.
    std::list<Sequence> removed;
    removed.splice(removed.begin(), sequences_, sequence);
    keep(removed.front());
    return;
  }
}

// Another sequence is reading what this one begins with, further than anyone has read.
bool Engine::waits_for_another(const Sequence& sequence) const {
  for (const Sequence& other : sequences_) {
    if (&other == &sequence || !other.started || !other.reads_prompt()) continue;
    if (other.score_width() < sequence.score_width()) continue;
    const std::int64_t common =
        std::min(common_prefix(other.request.prompt, sequence.request.prompt), sequence.prompt_size() - 1);
    if (common - other.cache.length() >= kShortestShared) return true;
  }
  return false;
}

void Engine::share_prefix(Sequence& sequence) {
  const KvCache* best = nullptr;
  const std::vector<PromptToken>* best_scores = nullptr;
  std::int64_t longest = kShortestShared - 1;
  const auto consider = [&](const auto& other, std::int64_t score_width) {
    std::int64_t common = common_prefix(other.ids, sequence.request.prompt);
    if (sequence.request.scores_prompt) {
      // What is not read is not scored: the other must have done it, and have the token behind in common too.
      if (score_width < sequence.score_width()) return;
      common = std::min(common - 1, static_cast<std::int64_t>(other.scores.size()));
    }
    // The last token of the prompt is read in any case: its output is what the first new token comes from.
    common = std::min({common, other.cache.length(), sequence.prompt_size() - 1});
    if (common <= longest) return;
    longest = common;
    best = &other.cache;
    best_scores = &other.scores;
  };
  for (const Sequence& other : sequences_) {
    if (&other != &sequence) consider(other, other.score_width());
  }
  for (const Kept& kept : kept_) consider(kept, kept.score_width);
  if (best == nullptr) return;
  try {
    sequence.cache = best->fork(longest);
  } catch (const std::exception&) {
    return;  // no memory for a copy: it is read as if nobody else had
  }
  statistics_.shared_tokens += longest;
  if (!sequence.request.scores_prompt) return;
  sequence.scores.assign(best_scores->begin(), best_scores->begin() + longest);
  for (PromptToken& token : sequence.scores) {
    if (token.top.size() > static_cast<std::size_t>(sequence.score_width())) {
      token.top.resize(static_cast<std::size_t>(sequence.score_width()));
    }
  }
}

void Engine::keep(Sequence& sequence) {
  if (sequence.cache.length() < kShortestShared) return;
  sequence.ids.resize(static_cast<std::size_t>(sequence.cache.length()));
  kept_.push_front(
      {std::move(sequence.ids), std::move(sequence.cache), std::move(sequence.scores), sequence.score_width()});
  std::unordered_set<const void*> counted;
  statistics_.kept_tokens = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const auto segments = kept->cache.segments();
    std::int64_t more = 0;
    for (const auto& [segment, room] : segments) more += counted.contains(segment) ? 0 : room;
    if (statistics_.kept_tokens + more > options_.kept_tokens) {
      kept = kept_.erase(kept);
      continue;
    }
    statistics_.kept_tokens += more;
    for (const auto& [segment, room] : segments) counted.insert(segment);
    ++kept;
  }
}

void Engine::drop_kept() {
  kept_.clear();
  statistics_.kept_tokens = 0;
}

}  // namespace crope::infer
