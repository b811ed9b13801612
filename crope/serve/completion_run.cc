#include "crope/serve/completion_run.h"

#include <algorithm>
#include <iterator>

#include "crope/serve/api_error.h"

namespace crope::serve {
namespace {

using infer::FinishReason;

// Whether the log-probabilities of the prompt are asked for.
bool scores_prompt(const CompletionRequest& request) {
  return request.echo && request.logprobs >= 0;
}

// A prompt with one token more than the window has no room for another; what follows it has an entry all the same,
// because clients count on one for each token that they asked for.
std::int64_t room(const CompletionRequest& request, const Prompt& prompt, std::int64_t window) {
  return static_cast<std::int64_t>(prompt.ids.size()) > window ? 0 : request.max_tokens;
}

}  // namespace

CompletionRun::CompletionRun(InferenceThread& inference, const CompletionRequest& request,
                             const text::Tokenizer* tokenizer, std::span<const std::int32_t> end_tokens,
                             std::function<void()> wake)
    : request_(request), tokenizer_(tokenizer) {
  std::vector<infer::SequenceRequest> sequences;
  for (const Prompt& prompt : request_.prompts) {
    usage_.prompt_tokens += static_cast<std::int64_t>(prompt.ids.size());
    const std::int64_t max_tokens = room(request_, prompt, inference.window());
    for (std::int64_t i = 0; i < request_.n; ++i) {
      const std::size_t index = choices_.size();
      choices_.push_back({.text = infer::TokenText(tokenizer, request_.stop), .trims_space = request_.is_chat});
      const bool needs_model = max_tokens > 0 || (scores_prompt(request_) && prompt.ids.size() > 1);
      if (!needs_model) {
        ready_.push_back(begin_choice(index));
        ready_.back().finish = FinishReason::length;
        choices_[index].finished = true;
        continue;
      }
      infer::SequenceRequest sequence{.prompt = prompt.ids, .max_tokens = max_tokens, .sampling = request_.sampling};
      sequence.sampling.seed += static_cast<std::uint64_t>(i);
      if (!request_.ignore_eos) {
        sequence.end_tokens.assign(end_tokens.begin(), end_tokens.end());
        sequence.end_tokens.insert(sequence.end_tokens.end(), request_.end_tokens.begin(), request_.end_tokens.end());
      }
      sequence.top_log_probabilities = request_.logprobs;
      sequence.scores_prompt = scores_prompt(request_) && prompt.ids.size() > 1;
      sequences.push_back(std::move(sequence));
      submitted_.push_back(index);
    }
  }
  open_ = submitted_.size();
  if (!sequences.empty()) ticket_ = inference.submit(std::move(sequences), std::move(wake));
}

// The echo, and the first token of a scored prompt, which has no log-probability.
ChoicePiece CompletionRun::begin_choice(std::size_t index) {
  ChoicePiece piece{.index = index};
  choices_[index].begun = true;
  if (!request_.echo) return piece;
  const Prompt& prompt = request_.prompts[index / static_cast<std::size_t>(request_.n)];
  piece.text = prompt.text;
  if (scores_prompt(request_)) {
    piece.tokens.push_back({.id = prompt.ids[0], .log_probability = std::nullopt});
    choices_[index].characters = token_characters(prompt.ids[0], tokenizer_);
  }
  return piece;
}

ChoicePiece CompletionRun::take(const Ticket::Event& event) {
  const std::size_t index = submitted_[event.index];
  Choice& choice = choices_[index];
  const infer::TokenEvent& token = event.token;
  if (token.finish == FinishReason::memory) throw ApiError(503, "the server has no memory left for this request");
  ChoicePiece piece{.index = index};
  if (!choice.begun) {
    piece = begin_choice(index);
    const Prompt& prompt = request_.prompts[index / static_cast<std::size_t>(request_.n)];
    for (std::size_t i = 0; i < token.prompt.size(); ++i) {
      piece.tokens.push_back(
          {.id = prompt.ids[i + 1], .log_probability = token.prompt[i].log_probability, .top = token.prompt[i].top});
      choice.characters += token_characters(prompt.ids[i + 1], tokenizer_);
    }
  } else {
    piece.text_offset = choice.characters;
  }
  if (token.id >= 0) {
    ++usage_.completion_tokens;
    piece.new_ids.push_back(token.id);
    if (request_.logprobs >= 0) {
      piece.tokens.push_back({.id = token.id, .log_probability = token.log_probability, .top = token.top});
      choice.characters += token_characters(token.id, tokenizer_);
    }
  } else if (request_.max_tokens > 0) {
    piece.tokens.push_back({});  // behind the window
  }
  infer::TokenText::Piece text = choice.text.take(token);
  if (choice.trims_space && !text.text.empty()) {
    if (text.text.starts_with(' ')) text.text.erase(0, 1);
    choice.trims_space = false;
  }
  piece.text += text.text;
  piece.finish = text.finish;
  choice.finished = text.finish != FinishReason::none;
  if (choice.finished && token.finish == FinishReason::none) ticket_->cancel(event.index);
  if (choice.finished) --open_;
  return piece;
}

std::vector<ChoicePiece> CompletionRun::next(std::chrono::steady_clock::time_point until) {
  if (!ready_.empty() || !ticket_) return std::exchange(ready_, {});
  std::vector<ChoicePiece> pieces;
  for (const Ticket::Event& event : ticket_->wait(until)) {
    if (!choices_[submitted_[event.index]].finished) pieces.push_back(take(event));
  }
  return pieces;
}

void append_piece(ChoicePiece& whole, ChoicePiece&& piece) {
  whole.text += piece.text;
  std::move(piece.tokens.begin(), piece.tokens.end(), std::back_inserter(whole.tokens));
  whole.new_ids.insert(whole.new_ids.end(), piece.new_ids.begin(), piece.new_ids.end());
  whole.finish = piece.finish;
}

}  // namespace crope::serve
