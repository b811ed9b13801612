#include "crope/infer/engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "crope/base/error.h"
#include "crope/base/parallel.h"
#include "crope/infer/ngram_draft.h"
#include "crope/infer/prefix_tree.h"
#include "crope/infer/top_tokens.h"
#include "crope/ops/device.h"
#include "crope/ops/row_maximum.h"

namespace crope::infer {
namespace {

// Rows of logits that are held at once.
constexpr std::size_t kMostLogitRows = 256;

std::span<float> row_of(const at::Tensor& logits, std::int64_t r) {
  return {ops::mutable_view(logits).row(r), static_cast<std::size_t>(logits.size(1))};
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
    case FinishReason::memory:
      return "memory";
    case FinishReason::none:
      break;
  }
  return "none";
}

struct Engine::Sequence {
  std::int64_t number;
  SequenceRequest request;
  TokenSampler sampler;
  KvCache cache;
  std::vector<std::int32_t> ids;  // to be read: prompt and what came after it; the cache holds the first of them
  NgramDraft draft;
  bool started = false;                     // its prompt is being read
  std::vector<std::int32_t> step_ids = {};  // what this step reads: its pending token, and guesses of those that follow
  std::vector<PromptToken> scores = {};

  // Tokens of the prompt that are read: of one that is only scored, all but the last.
  std::int64_t prompt_size() const {
    return static_cast<std::int64_t>(request.prompt.size()) - (request.max_tokens == 0 ? 1 : 0);
  }
  std::int64_t pending() const { return static_cast<std::int64_t>(ids.size()) - cache.length(); }
  bool reads_prompt() const { return cache.length() < prompt_size(); }
  std::int64_t made() const { return static_cast<std::int64_t>(ids.size()) - prompt_size(); }
  std::int64_t score_width() const { return request.scores_prompt ? request.top_log_probabilities : -1; }
};

struct Engine::Kept {
  std::vector<std::int32_t> ids;
  KvCache cache;
  std::vector<PromptToken> scores;
  std::int64_t score_width;
};

// Row `row` of a step's output predicts the token `place` of its sequence: one of the prompt, or the next one.
struct Engine::Row {
  Sequence* sequence;
  std::int64_t row;
  std::size_t place;
};

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

// False: there is no memory.
bool Engine::make_room(Sequence& sequence, std::int64_t count) {
  const std::int64_t whole = std::min(
      config().max_seq_len, std::max(sequence.prompt_size() + sequence.request.max_tokens - 1, sequence.prompt_size()));
  try {
    sequence.cache.reserve(count, whole - sequence.cache.length());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Rows of prompts only, at most kMostLogitRows.
void Engine::score_prompts(std::span<const Row> rows) {
  std::vector<std::int64_t> numbers;
  for (const Row& row : rows) {
    numbers.push_back(row.row);
    auto& scores = row.sequence->scores;
    scores.resize(std::max(scores.size(), row.place));
  }
  const at::Tensor logits = decoder_.logits(numbers);
  const std::vector<ops::RowMaximum> maxima = ops::row_maxima(logits);
  const auto all = static_cast<std::int64_t>(rows.size());
  parallel_rows(all, logits.size(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const Row& row = rows[static_cast<std::size_t>(r)];
      const std::span<const float> values = row_of(logits, r);
      const ops::RowMaximum& maximum = maxima[static_cast<std::size_t>(r)];
      PromptToken& score = row.sequence->scores[row.place - 1];
      score.log_probability =
          values[static_cast<std::size_t>(row.sequence->request.prompt[row.place])] - maximum.log_sum_exp;
      score.top = row.sequence->score_width() == 1
                      ? std::vector<TokenProbability>{{static_cast<std::int32_t>(maximum.index),
                                                       maximum.value - maximum.log_sum_exp}}
                      : top_tokens(values, row.sequence->score_width(), maximum.log_sum_exp);
    }
  });
}

TokenEvent Engine::take_token(Sequence& sequence, std::span<float> logits) {
  TokenEvent event{.sequence = sequence.number};
  if (static_cast<std::int64_t>(sequence.ids.size()) == sequence.prompt_size()) event.prompt = sequence.scores;
  const std::int64_t top = sequence.request.top_log_probabilities;
  double normalizer = 0;
  std::vector<float> untouched;
  if (top >= 0) {
    normalizer = ops::row_maximum(logits).log_sum_exp;
    event.top = top_tokens(logits, top, normalizer);
    untouched.assign(logits.begin(), logits.end());
  }
  event.id = sequence.sampler.sample(logits);
  if (top >= 0) event.log_probability = untouched[static_cast<std::size_t>(event.id)] - normalizer;
  sequence.ids.push_back(event.id);
  ++statistics_.new_tokens;
  if (std::ranges::find(sequence.request.end_tokens, event.id) != sequence.request.end_tokens.end()) {
    event.finish = FinishReason::end_token;
  } else if (sequence.made() >= sequence.request.max_tokens) {
    event.finish = FinishReason::length;
  } else if (std::ssize(sequence.ids) > config().max_seq_len) {  // this one cannot be read
    event.finish = FinishReason::window;
  }
  return event;
}

// What a sequence reads in this step: its pending token and at most `room` guesses.
void Engine::add_guess(Sequence& sequence, std::int64_t room) {
  const std::int64_t left = sequence.request.max_tokens - sequence.made();  // of which one comes without a guess
  const std::int64_t window = config().max_seq_len - std::ssize(sequence.ids);
  sequence.step_ids = {sequence.ids.back()};
  const std::vector<std::int32_t> guess = sequence.draft.guess(sequence.ids, std::min({room, left - 1, window}));
  sequence.step_ids.insert(sequence.step_ids.end(), guess.begin(), guess.end());
}

// The tokens that come of the rows of logits from `row` on: one for what was pending, and one for each guess as long as
// the one before was right.
void Engine::take_tokens(Sequence& sequence, const at::Tensor& logits, std::int64_t row,
                         std::vector<TokenEvent>& events) {
  const auto guessed = std::max<std::int64_t>(0, std::ssize(sequence.step_ids) - 1);
  const std::int64_t read = sequence.cache.length() - guessed;
  std::int64_t right = 0;
  for (;; ++right) {
    events.push_back(take_token(sequence, row_of(logits, row + right)));
    if (events.back().finish != FinishReason::none || right == guessed) break;
    if (events.back().id != sequence.step_ids[static_cast<std::size_t>(right) + 1]) break;
  }
  sequence.cache.take_back(read + right);
  sequence.step_ids.clear();
  if (guessed == 0) return;
  sequence.draft.report(guessed, right);
  statistics_.guessed_tokens += guessed;
  statistics_.right_tokens += right;
}

void Engine::step(const std::function<void(const TokenEvent&)>& on_token) {
  if (sequences_.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Chunk> chunks;
  std::vector<Row> prompt_rows, next_rows;
  std::vector<Sequence*> scored;  // completely, and nothing follows
  std::vector<Sequence*> failed;  // for want of memory
  std::int64_t row = 0, prompt_tokens = 0;
  // Beside prompts nothing is guessed: they fill the step.
  const bool speculates = options_.speculate > 0 && std::ranges::none_of(sequences_, &Sequence::reads_prompt);
  const std::int64_t guesses = Decoder::kFewRows / std::ssize(sequences_) - 1;
  for (Sequence& sequence : sequences_) {
    std::int64_t count = sequence.pending();
    const bool reads_prompt = sequence.reads_prompt();
    if (reads_prompt) {
      if (prompt_tokens >= options_.prefill_tokens) continue;
      if (!sequence.started) {
        if (waits_for_another(sequence)) continue;
        share_prefix(sequence);
        sequence.started = true;
      }
      count = std::min(sequence.pending(), options_.prefill_tokens - prompt_tokens);
    } else if (speculates) {
      add_guess(sequence, guesses);
      count = std::ssize(sequence.step_ids);
    }
    if (!make_room(sequence, count)) {
      failed.push_back(&sequence);
      continue;
    }
    if (reads_prompt) prompt_tokens += count;
    const auto first = static_cast<std::size_t>(sequence.cache.length());
    const bool is_last = count >= sequence.pending();
    const bool scores = reads_prompt && sequence.request.scores_prompt;
    const std::int64_t next = !sequence.step_ids.empty() ? count : 1;
    const std::int64_t wanted = scores ? count : (is_last && sequence.request.max_tokens > 0 ? next : 0);
    const std::span<const std::int32_t> ids =
        sequence.step_ids.empty() ? std::span(sequence.ids).subspan(first, static_cast<std::size_t>(count))
                                  : std::span(sequence.step_ids);
    chunks.push_back({&sequence.cache, ids, count - wanted});
    if (scores) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t place = first + static_cast<std::size_t>(i) + 1;
        if (place < sequence.request.prompt.size()) prompt_rows.push_back({&sequence, row + i, place});
      }
    }
    row += wanted;
    if (!is_last) continue;
    if (sequence.request.max_tokens == 0) {
      scored.push_back(&sequence);
    } else {
      for (std::int64_t i = row - next; i < row; ++i) next_rows.push_back({&sequence, i, sequence.ids.size()});
    }
  }
  if (!chunks.empty()) decoder_.append(chunks);
  for (std::size_t i = 0; i < prompt_rows.size(); i += kMostLogitRows) {
    score_prompts(std::span(prompt_rows).subspan(i, std::min(kMostLogitRows, prompt_rows.size() - i)));
  }
  std::vector<TokenEvent> events;
  if (!next_rows.empty()) {
    std::vector<std::int64_t> numbers;
    for (const Row& next : next_rows) numbers.push_back(next.row);
    const at::Tensor logits = decoder_.logits(numbers);
    for (std::size_t i = 0, end = 0; i < next_rows.size(); i = end) {
      Sequence& sequence = *next_rows[i].sequence;
      while (end < next_rows.size() && next_rows[end].sequence == &sequence) ++end;
      take_tokens(sequence, logits, static_cast<std::int64_t>(i), events);
      if (events.back().finish != FinishReason::none) remove(events.back().sequence);
    }
  }
  for (Sequence* sequence : scored) {
    events.push_back(
        {.sequence = sequence->number, .id = -1, .finish = FinishReason::length, .prompt = sequence->scores});
    remove(sequence->number);
  }
  for (const Sequence* sequence : failed) {
    events.push_back({.sequence = sequence->number, .id = -1, .finish = FinishReason::memory});
    sequences_.remove_if([&](const Sequence& each) { return &each == sequence; });  // nothing of it is kept
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
}

}  // namespace crope::infer
