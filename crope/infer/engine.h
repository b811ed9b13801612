// Many sequences generated together.
//
// Each step takes every sequence that is being decoded at least one token further, and a piece of the prompts that
// wait, in one pass over the weights. With speculation it also reads guesses of the tokens that follow (ngram_draft.h)
// and keeps those that the sampler chooses as well: the tokens are the same as without speculation. Sequences come
// and go between steps. A prompt that begins like a sequence that is there, or was there lately, shares its keys and
// values.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "crope/infer/decoder.h"
#include "crope/infer/sampler.h"
#include "crope/infer/top_tokens.h"

namespace crope::infer {

// Why a sequence ended.
enum class FinishReason {
  none,       // it has not
  stop,       // a stop string came
  length,     // max_tokens
  window,     // max_seq_len tokens have been read: the model has no place for another
  end_token,  // one of the end tokens came
  memory,     // there is no memory for its next token; the others continue
};

const char* finish_reason_name(FinishReason reason);

struct SequenceRequest {
  std::vector<std::int32_t> prompt;
  std::int64_t max_tokens = 0;  // at least 1, or 0 to score the prompt alone
  SamplingOptions sampling;
  std::vector<std::int32_t> end_tokens;  // each of them ends the sequence
  // Also report the log-probability of each token, and this many of the most likely ones. Below 0: neither.
  std::int64_t top_log_probabilities = -1;
  // Also report those of the prompt. Then a prompt that nothing follows (max_tokens 0) may have one token more than the
  // window: its last is predicted and never read.
  bool scores_prompt = false;
};

// How likely a token of the prompt was at its place, before penalty and temperature.
struct PromptToken {
  double log_probability;
  std::vector<TokenProbability> top;  // most likely first
};

// One token of one sequence.
struct TokenEvent {
  std::int64_t sequence;
  std::int32_t id;                           // -1 where the request wants scores alone
  FinishReason finish = FinishReason::none;  // of the sequence, which is gone then
  std::optional<double> log_probability;     // before penalty and temperature
  std::vector<TokenProbability> top;         // most likely first
  // With the first event of a sequence whose prompt was to be scored: its tokens from the second on.
  std::vector<PromptToken> prompt = {};
};

// More rows would be computed in another way, with other roundings.
inline constexpr std::int64_t kMostSpeculation = Decoder::kFewRows - 1;

struct EngineOptions {
  // Prompt tokens read in one step, over all sequences: how long the others wait for a prompt.
  std::int64_t prefill_tokens = 256;
  // Tokens of ended sequences that are kept for prompts that begin alike, by the room that they hold in memory.
  std::int64_t kept_tokens = 2048;
  // Guessed tokens that are checked in one step, for each sequence, at most kMostSpeculation. 0: no speculation.
  std::int64_t speculate = 0;
};

// Used by one thread at a time.
class Engine {
 public:
  Engine(const model::Transformer& model, const EngineOptions& options);
  ~Engine();

  const model::ModelConfig& config() const { return decoder_.config(); }

  // A number that no other sequence has. Of max_tokens, no more count than the window has. Throws UsageError if the
  // prompt is empty, longer than the window or has an id that the model does not have, or if the options make no sense.
  std::int64_t admit(SequenceRequest request);

  // Ends a sequence; nothing happens if there is none of that number. Not during step().
  void remove(std::int64_t sequence);

  // Whether there is nothing to do.
  bool idle() const { return sequences_.empty(); }

  // Sequences admitted and not ended.
  std::size_t size() const { return sequences_.size(); }

  // One pass over the weights. Reports the new tokens of each sequence in their order: at most one, or with speculation
  // one more than were guessed. A sequence that has been reported to end gets none after that; one that the caller ends
  // at a token may get others in the same step.
  void step(const std::function<void(const TokenEvent&)>& on_token);

  struct Statistics {
    std::int64_t prompt_tokens = 0;  // computed
    std::int64_t shared_tokens = 0;  // of prompts, found in another sequence
    std::int64_t new_tokens = 0;
    double prefill_seconds = 0;       // of steps that read prompts
    double decode_seconds = 0;        // of the others
    std::int64_t decoded_tokens = 0;  // in decode_seconds
    std::int64_t kept_tokens = 0;     // room that ended sequences hold now
    std::int64_t guessed_tokens = 0;  // by speculation
    std::int64_t right_tokens = 0;    // of those
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  struct Sequence;
  struct Kept;
  struct Row;
  struct Budget;
  struct Step;

  void share_prefix(Sequence& sequence);
  bool waits_for_another(const Sequence& sequence) const;
  void keep(Sequence& sequence);
  void drop_kept();
  bool make_room(Sequence& sequence, std::int64_t count);
  void give_up(Sequence& sequence, Step& step, std::list<Sequence>& failed);
  Step plan(const Budget& budget, std::list<Sequence>& failed);
  Step read(std::list<Sequence>& failed);
  void score_prompts(Step& step, std::list<Sequence>& failed);
  void score_rows(std::span<const Row> all);
  void add_guess(Sequence& sequence, std::int64_t room);
  void take_tokens(Sequence& sequence, const at::Tensor& logits, std::int64_t row, std::vector<TokenEvent>& events);
  TokenEvent take_token(Sequence& sequence, std::span<float> logits);
  void take_next_tokens(std::span<const Row> rows, Step& step, std::list<Sequence>& failed,
                        std::vector<TokenEvent>& events);

  Decoder decoder_;
  EngineOptions options_;
  std::list<Sequence> sequences_;  // in the order of admission
  std::list<Kept> kept_;           // the latest first
  std::int64_t next_number_ = 0;
  Statistics statistics_;
};

}  // namespace crope::infer
