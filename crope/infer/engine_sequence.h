// What an Engine works on. For its own sources: engine.cc (which sequences there are), engine_step.cc (a step of them).
#pragma once

#include <vector>

#include "crope/infer/engine.h"
#include "crope/infer/ngram_draft.h"

namespace crope::infer {

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

// What a step may read.
struct Engine::Budget {
  std::int64_t prompt_tokens;  // over all sequences
  bool may_guess;
};

struct Engine::Step {
  std::vector<Chunk> chunks;
  std::vector<Sequence*> readers;  // of the chunks
  std::vector<Row> prompt_rows, next_rows;
  std::vector<Sequence*> scored;  // completely, and nothing follows
  std::int64_t prompt_tokens = 0;

  std::int64_t tokens() const {
    std::int64_t sum = 0;
    for (const Chunk& chunk : chunks) sum += std::ssize(chunk.ids);
    return sum;
  }
};

}  // namespace crope::infer
