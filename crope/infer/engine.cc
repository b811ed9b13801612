#include "crope/infer/engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "crope/base/error.h"
#include "crope/infer/prefix_tree.h"
#include "crope/ops/cpu/row_kernels.h"

namespace crope::infer {
namespace {

std::vector<TokenProbability> top_of(std::span<const float> logits, std::int64_t count, double normalizer) {
  std::vector<std::int32_t> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(ids.size()));
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](std::int32_t x, std::int32_t y) { return logit(x) != logit(y) ? logit(x) > logit(y) : x < y; });
  std::vector<TokenProbability> top;
  for (auto id = ids.begin(); id != end; ++id) top.push_back({*id, logit(*id) - normalizer});
  return top;
}

}  // namespace

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
    case FinishReason::none:
      break;
  }
  return "none";
}

struct Engine::Sequence {
  std::int64_t number;
  SequenceRequest request;
  Sampler sampler;
  KvCache cache;
  std::vector<std::int32_t> ids;  // prompt and what came after it; the cache holds the first of them
  bool started = false;           // its prompt is being read

  std::int64_t prompt_size() const { return static_cast<std::int64_t>(request.prompt.size()); }
  std::int64_t pending() const { return static_cast<std::int64_t>(ids.size()) - cache.length(); }
  bool reads_prompt() const { return cache.length() < prompt_size(); }
};

struct Engine::Kept {
  std::vector<std::int32_t> ids;
  KvCache cache;
};

Engine::Engine(const model::Transformer& model, const EngineOptions& options) : decoder_(model), options_(options) {
  if (options.prefill_tokens < 1) {
    throw UsageError(fmt::format("prefill_tokens: expected a number from 1, got {}", options.prefill_tokens));
  }
}

Engine::~Engine() = default;

std::int64_t Engine::admit(SequenceRequest request) {
  const model::ModelConfig& config = decoder_.config();
  if (request.prompt.empty()) throw UsageError("the prompt is empty", "give at least one token");
  if (static_cast<std::int64_t>(request.prompt.size()) > config.max_seq_len) {
    throw UsageError(fmt::format("a prompt of {} tokens: this model's window has {} (max_seq_len)",
                                 request.prompt.size(), config.max_seq_len),
                     "shorten the prompt");
  }
  if (request.max_tokens < 1) {
    throw UsageError(fmt::format("max_tokens: expected a number from 1, got {}", request.max_tokens));
  }
  for (std::size_t i = 0; i < request.prompt.size(); ++i) {
    if (request.prompt[i] >= 0 && request.prompt[i] < config.vocab_size) continue;
    throw UsageError(fmt::format("token {} of the prompt is {}, outside the vocabulary of {} (0 to {})", i,
                                 request.prompt[i], config.vocab_size, config.vocab_size - 1));
  }
  Sampler sampler(request.sampling, request.prompt);
  std::vector<std::int32_t> ids = request.prompt;
  sequences_.push_back(
      {next_number_, std::move(request), std::move(sampler), decoder_.make_cache(), std::move(ids), false});
  return next_number_++;
}

void Engine::remove(std::int64_t number) {
  for (auto sequence = sequences_.begin(); sequence != sequences_.end(); ++sequence) {
    if (sequence->number != number) continue;
    keep(*sequence);
    sequences_.erase(sequence);
    return;
  }
}

// Another sequence is reading what this one begins with, further than anyone has read.
bool Engine::waits_for_another(const Sequence& sequence) const {
  for (const Sequence& other : sequences_) {
    if (&other == &sequence || !other.started || !other.reads_prompt()) continue;
    const std::int64_t common =
        std::min(common_prefix(other.request.prompt, sequence.request.prompt), sequence.prompt_size() - 1);
    if (common - other.cache.length() >= kShortestShared) return true;
  }
  return false;
}

void Engine::share_prefix(Sequence& sequence) {
  const KvCache* best = nullptr;
  std::int64_t longest = kShortestShared - 1;
  const auto consider = [&](std::span<const std::int32_t> ids, const KvCache& cache) {
    // The last token of the prompt is read in any case: its output is what the first new token comes from.
    const std::int64_t common =
        std::min({common_prefix(ids, sequence.request.prompt), cache.length(), sequence.prompt_size() - 1});
    if (common <= longest) return;
    longest = common;
    best = &cache;
  };
  for (const Sequence& other : sequences_) {
    if (&other != &sequence) consider(other.ids, other.cache);
  }
  for (const Kept& kept : kept_) consider(kept.ids, kept.cache);
  if (best == nullptr) return;
  sequence.cache = best->fork(longest);
  statistics_.shared_tokens += longest;
}

void Engine::keep(Sequence& sequence) {
  if (sequence.cache.length() < kShortestShared) return;
  sequence.ids.resize(static_cast<std::size_t>(sequence.cache.length()));
  kept_.push_front({std::move(sequence.ids), std::move(sequence.cache)});
  std::int64_t total = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    total += kept->cache.length();
    kept = total > options_.kept_tokens ? kept_.erase(kept) : std::next(kept);
  }
}

TokenEvent Engine::take_token(Sequence& sequence, std::span<float> logits) {
  TokenEvent event{.sequence = sequence.number};
  const std::int64_t top = sequence.request.top_log_probabilities;
  double normalizer = 0;
  std::vector<float> untouched;
  if (top >= 0) {
    normalizer = ops::cpu::row_maximum(logits.data(), static_cast<std::int64_t>(logits.size())).log_sum_exp;
    event.top = top_of(logits, top, normalizer);
    untouched.assign(logits.begin(), logits.end());
  }
  event.id = sequence.sampler.sample(logits);
  if (top >= 0) event.log_probability = untouched[static_cast<std::size_t>(event.id)] - normalizer;
  sequence.ids.push_back(event.id);
  ++statistics_.new_tokens;
  const std::int64_t made = static_cast<std::int64_t>(sequence.ids.size()) - sequence.prompt_size();
  if (sequence.request.end_token == event.id) {
    event.finish = FinishReason::end_token;
  } else if (made >= sequence.request.max_tokens) {
    event.finish = FinishReason::length;
  } else if (sequence.cache.length() >= config().max_seq_len) {
    event.finish = FinishReason::window;
  }
  return event;
}

void Engine::step(const std::function<void(const TokenEvent&)>& on_token) {
  if (sequences_.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Chunk> chunks;
  std::vector<Sequence*> complete;  // sequences that get a token, with the row it comes from
  std::vector<std::int64_t> rows;
  std::int64_t row = 0, prompt_tokens = 0;
  for (Sequence& sequence : sequences_) {
    std::int64_t count = sequence.pending();
    if (sequence.reads_prompt()) {
      if (prompt_tokens >= options_.prefill_tokens) continue;
      if (!sequence.started) {
        if (waits_for_another(sequence)) continue;
        share_prefix(sequence);
        sequence.started = true;
        const std::int64_t whole = sequence.prompt_size() + sequence.request.max_tokens - 1;
        sequence.cache.reserve(std::min(config().max_seq_len, std::max(whole, sequence.prompt_size())) -
                               sequence.cache.length());
      }
      count = std::min(sequence.pending(), options_.prefill_tokens - prompt_tokens);
      prompt_tokens += count;
    }
    const auto first = static_cast<std::size_t>(sequence.cache.length());
    chunks.push_back({&sequence.cache, std::span(sequence.ids).subspan(first, static_cast<std::size_t>(count))});
    row += count;
    if (count == sequence.pending()) {
      complete.push_back(&sequence);
      rows.push_back(row - 1);
    }
  }
  decoder_.append(chunks);
  if (!rows.empty()) {
    at::Tensor logits = decoder_.logits(rows);
    const auto V = static_cast<std::size_t>(logits.size(1));
    auto* data = logits.data_ptr<float>();
    std::vector<TokenEvent> events;
    for (std::size_t i = 0; i < complete.size(); ++i) {
      events.push_back(take_token(*complete[i], std::span(data + i * V, V)));
      if (events.back().finish != FinishReason::none) remove(events.back().sequence);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (prompt_tokens == 0) {
      statistics_.decode_seconds += seconds;
      statistics_.decoded_tokens += static_cast<std::int64_t>(events.size());
    } else {
      statistics_.prefill_seconds += seconds;
    }
    statistics_.prompt_tokens += prompt_tokens;
    for (const TokenEvent& event : events) on_token(event);
    return;
  }
  statistics_.prompt_tokens += prompt_tokens;
  statistics_.prefill_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace crope::infer
