#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string_view>
#include <utility>

#include "crope/base/parallel.h"
#include "crope/infer/engine_sequence.h"
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

// False where memory ran out on the way. Other failures are thrown.
bool has_memory_for(const auto& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const c10::Error& e) {  // of LibTorch's own allocator
    if (std::string_view(e.what_without_backtrace()).find("tried to allocate") == std::string_view::npos) throw;
    return false;
  }
}

}  // namespace

// A sequence that there is no memory for: it leaves the step and frees its keys and values.
void Engine::give_up(Sequence& sequence, Step& step, std::list<Sequence>& failed) {
  for (Row& row : step.prompt_rows) {
    if (row.sequence == &sequence) row.sequence = nullptr;
  }
  std::erase_if(step.next_rows, [&](const Row& row) { return row.sequence == &sequence; });
  std::erase(step.scored, &sequence);
  sequence.cache = decoder_.make_cache();
  failed.splice(failed.end(), sequences_,
                std::ranges::find(sequences_, &sequence, [](const Sequence& each) { return &each; }));
}

// False: there is no memory, not even where ended sequences are kept.
bool Engine::make_room(Sequence& sequence, std::int64_t count) {
  const std::int64_t whole = std::min(
      config().max_seq_len, std::max(sequence.prompt_size() + sequence.request.max_tokens - 1, sequence.prompt_size()));
  const auto reserve = [&] { sequence.cache.reserve(count, whole - sequence.cache.length()); };
  if (has_memory_for(reserve)) return true;
  drop_kept();
  return has_memory_for(reserve);
}

// What each sequence reads next. Those whose keys and values find no memory fail.
Engine::Step Engine::plan(const Budget& budget, std::list<Sequence>& failed) {
  Step step;
  std::int64_t row = 0;
  // Beside prompts nothing is guessed: they fill the step.
  const bool speculates =
      budget.may_guess && options_.speculate > 0 && std::ranges::none_of(sequences_, &Sequence::reads_prompt);
  const std::int64_t guesses = Decoder::kFewRows / std::max<std::int64_t>(1, std::ssize(sequences_)) - 1;
  for (auto place = sequences_.begin(); place != sequences_.end();) {
    Sequence& sequence = *place++;
    sequence.step_ids.clear();
    std::int64_t count = sequence.pending();
    const bool reads_prompt = sequence.reads_prompt();
    if (reads_prompt) {
      if (step.prompt_tokens >= budget.prompt_tokens) continue;
      if (!sequence.started) {
        if (waits_for_another(sequence)) continue;
        share_prefix(sequence);
        sequence.started = true;
      }
      count = std::min(sequence.pending(), budget.prompt_tokens - step.prompt_tokens);
    } else if (speculates) {
      add_guess(sequence, guesses);
      count = std::ssize(sequence.step_ids);
    }
    if (!make_room(sequence, count)) {
      give_up(sequence, step, failed);
      continue;
    }
    if (reads_prompt) step.prompt_tokens += count;
    const auto first = static_cast<std::size_t>(sequence.cache.length());
    const bool is_last = count >= sequence.pending();
    const bool scores = reads_prompt && sequence.request.scores_prompt;
    const std::int64_t next = !sequence.step_ids.empty() ? count : 1;
    const std::int64_t wanted = scores ? count : (is_last && sequence.request.max_tokens > 0 ? next : 0);
    const std::span<const std::int32_t> ids =
        sequence.step_ids.empty() ? std::span(sequence.ids).subspan(first, static_cast<std::size_t>(count))
                                  : std::span(sequence.step_ids);
    step.chunks.push_back({&sequence.cache, ids, count - wanted});
    step.readers.push_back(&sequence);
    if (scores) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t place_of_next = first + static_cast<std::size_t>(i) + 1;
        if (place_of_next < sequence.request.prompt.size()) {
          step.prompt_rows.push_back({&sequence, row + i, place_of_next});
        }
      }
    }
    row += wanted;
    if (!is_last) continue;
    if (sequence.request.max_tokens == 0) {
      step.scored.push_back(&sequence);
    } else {
      for (std::int64_t i = row - next; i < row; ++i) step.next_rows.push_back({&sequence, i, sequence.ids.size()});
    }
  }
  return step;
}

// Plans a step and takes it through the model. Where the decoder has no memory for so many rows, fewer are read; where
// each sequence reads a single token, the latest one fails.
Engine::Step Engine::read(std::list<Sequence>& failed) {
  Budget budget{.prompt_tokens = options_.prefill_tokens, .may_guess = true};
  for (;;) {
    Step step = plan(budget, failed);
    if (step.chunks.empty() || has_memory_for([&] { decoder_.append(step.chunks); })) return step;
    drop_kept();
    if (step.tokens() > std::ssize(step.chunks)) {
      budget = {.prompt_tokens = std::max<std::int64_t>(1, step.prompt_tokens / 2), .may_guess = false};
    } else {
      give_up(*step.readers.back(), step, failed);
    }
  }
}

// At most kMostLogitRows rows at once, fewer where there is no memory; a row that has none alone fails its sequence.
void Engine::score_prompts(Step& step, std::list<Sequence>& failed) {
  std::size_t most = kMostLogitRows;
  for (std::size_t i = 0; i < step.prompt_rows.size();) {
    const auto rows = std::span(step.prompt_rows).subspan(i, std::min(most, step.prompt_rows.size() - i));
    if (has_memory_for([&] { score_rows(rows); })) {
      i += rows.size();
    } else if (rows.size() > 1) {
      most = rows.size() / 2;
    } else {
      give_up(*rows.front().sequence, step, failed);
    }
  }
}

// Rows of prompts; those of sequences that have failed are skipped.
void Engine::score_rows(std::span<const Row> all) {
  std::vector<Row> rows;
  std::vector<std::int64_t> numbers;
  for (const Row& row : all) {
    if (row.sequence == nullptr) continue;
    rows.push_back(row);
    numbers.push_back(row.row);
    auto& scores = row.sequence->scores;
    scores.resize(std::max(scores.size(), row.place));
  }
  if (rows.empty()) return;
  const at::Tensor logits = decoder_.logits(numbers);
  const std::vector<ops::RowMaximum> maxima = ops::row_maxima(logits);
  parallel_rows(std::ssize(rows), logits.size(1), [&](std::int64_t begin, std::int64_t end) {
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

// The next tokens of whole sequences, whose rows stand together. Without memory for all of them, of one after the
// other; one that has none alone fails.
void Engine::take_next_tokens(std::span<const Row> rows, Step& step, std::list<Sequence>& failed,
                              std::vector<TokenEvent>& events) {
  at::Tensor logits;
  const bool has_logits = has_memory_for([&] {
    std::vector<std::int64_t> numbers;
    for (const Row& row : rows) numbers.push_back(row.row);
    logits = decoder_.logits(numbers);
  });
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    Sequence& sequence = *rows[i].sequence;
    while (end < rows.size() && rows[end].sequence == &sequence) ++end;
    if (!has_logits && end - i < rows.size()) {
      take_next_tokens(rows.subspan(i, end - i), step, failed, events);
    } else if (has_logits &&
               has_memory_for([&] { take_tokens(sequence, logits, static_cast<std::int64_t>(i), events); })) {
      if (events.back().finish != FinishReason::none) remove(events.back().sequence);
    } else {
      give_up(sequence, step, failed);
    }
  }
}

void Engine::step(const std::function<void(const TokenEvent&)>& on_token) {
  if (sequences_.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  std::list<Sequence> failed;  // for want of memory; nothing of them is kept
  Step step = read(failed);
  score_prompts(step, failed);
  std::vector<TokenEvent> events;
  const std::vector<Row> next_rows = std::exchange(step.next_rows, {});
  if (!next_rows.empty()) take_next_tokens(next_rows, step, failed, events);
  for (const Sequence* sequence : step.scored) {
    events.push_back(
        {.sequence = sequence->number, .id = -1, .finish = FinishReason::length, .prompt = sequence->scores});
    remove(sequence->number);
  }
  for (const Sequence& sequence : failed) {
    events.push_back({.sequence = sequence.number, .id = -1, .finish = FinishReason::memory});
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (step.prompt_tokens == 0) {
    statistics_.decode_seconds += seconds;
    statistics_.decoded_tokens += static_cast<std::int64_t>(events.size());
  } else {
    statistics_.prefill_seconds += seconds;
  }
  statistics_.prompt_tokens += step.prompt_tokens;
  for (const TokenEvent& event : events) on_token(event);
}

}  // namespace crope::infer
