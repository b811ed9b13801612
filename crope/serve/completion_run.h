// One request for completions from its submission to its last token: events of the inference thread become pieces of
// text.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "crope/infer/token_text.h"
#include "crope/serve/inference_thread.h"
#include "crope/serve/openai_request.h"
#include "crope/serve/openai_response.h"

namespace crope::serve {

// Used by one thread.
class CompletionRun {
 public:
  // Submits the request. `tokenizer` may be null. `wake` is called, by another thread, whenever next() has something.
  // Throws as InferenceThread::submit does.
  CompletionRun(
      InferenceThread& inference, const CompletionRequest& request, const text::Tokenizer* tokenizer,
      std::span<const std::int32_t> end_tokens, std::function<void()> wake = [] {});

  // The pieces since the last call; waits for the first until `until`. Pieces of one choice come in their order,
  // the last has a finish reason. A piece may have no text: a token that waits for the rest of its character, or may
  // be the beginning of a stop string.
  std::vector<ChoicePiece> next(std::chrono::steady_clock::time_point until);

  // Whether all pieces have been given out.
  bool done() const { return open_ == 0 && ready_.empty(); }

  const Usage& usage() const { return usage_; }

 private:
  struct Choice {
    infer::TokenText text;
    std::int64_t characters = 0;  // of all tokens so far: text_offset of the next
    bool trims_space = false;     // the one that a chat's template has before an answer
    bool begun = false;
    bool finished = false;
  };

  ChoicePiece begin_choice(std::size_t index);
  ChoicePiece take(const Ticket::Event& event);

  const CompletionRequest request_;
  const text::Tokenizer* tokenizer_;
  std::vector<Choice> choices_;
  std::vector<std::size_t> submitted_;  // the choice of each sequence of the ticket
  std::vector<ChoicePiece> ready_;      // pieces that need no model
  std::unique_ptr<Ticket> ticket_;      // null where no choice needs the model
  std::size_t open_ = 0;
  Usage usage_;
};

// The pieces of each choice put together.
void append_piece(ChoicePiece& whole, ChoicePiece&& piece);

}  // namespace crope::serve
