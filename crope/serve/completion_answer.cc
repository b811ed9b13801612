#include "crope/serve/completion_answer.h"

#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "crope/serve/completion_run.h"
#include "crope/serve/json_response.h"
#include "crope/serve/openai_response.h"

namespace crope::serve {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct CompletionProgress {
  const CompletionHost& host;
  CompletionRequest request;
  AnswerStyle style;
  CompletionRun run;
  Clock::time_point begin;
  Clock::time_point deadline;
  std::vector<ChoicePiece> choices;  // as far as they are known, where they are not streamed
  std::vector<bool> begun;           // choices of which something has been streamed
  bool has_token = false;
};

std::string event_text(const Json& json) {
  return "data: " + to_text(json) + "\n\n";
}

// Events of the pieces that have something to tell.
std::string piece_events(const AnswerStyle& style, const std::vector<ChoicePiece>& pieces, std::vector<bool>& begun) {
  const bool tells_all = style.has_logprobs || style.has_token_ids;
  std::string text;
  for (const ChoicePiece& piece : pieces) {
    const bool is_first = !begun[piece.index];
    begun[piece.index] = true;
    const bool says_nothing = piece.text.empty() && piece.finish == infer::FinishReason::none && !tells_all;
    if (!says_nothing || (is_first && style.is_chat)) text += event_text(chunk_json(style, piece, is_first));
  }
  return text;
}

bool advance(CompletionProgress& progress, HttpResponse& response) {
  const bool is_stream = progress.request.stream;
  try {
    std::vector<ChoicePiece> pieces = progress.run.next(Clock::now());
    if (!pieces.empty() && !std::exchange(progress.has_token, true)) {
      progress.host.metrics.observe_first_token(seconds_since(progress.begin));
    }
    if (is_stream) {
      response.body += piece_events(progress.style, pieces, progress.begun);
    } else {
      for (ChoicePiece& piece : pieces) append_piece(progress.choices[piece.index], std::move(piece));
    }
    if (!progress.run.done()) {
      if (Clock::now() >= progress.deadline) throw ApiError(504, "the answer took too long");
      return false;
    }
    const Usage& usage = progress.run.usage();
    progress.host.metrics.observe_completion(seconds_since(progress.begin));
    progress.host.metrics.add_tokens(usage.prompt_tokens, usage.completion_tokens);
    if (!is_stream) {
      response = json_response(answer_json(progress.style, progress.choices, usage));
    } else {
      if (progress.request.include_usage) response.body += event_text(usage_chunk_json(progress.style, usage));
      response.body += "data: [DONE]\n\n";
    }
  } catch (...) {
    const ApiError error = describe_exception(std::current_exception());
    if (is_stream) {
      response.body += event_text(error_json(error));
    } else {
      response = error_response(error);
    }
  }
  return true;
}

}  // namespace

std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator();
}

HttpResponse completion_answer(const CompletionHost& host, const CompletionRequest& request,
                               const std::function<void()>& wake) {
  const Clock::time_point begin = Clock::now();
  const std::size_t count = request.prompts.size() * static_cast<std::size_t>(request.n);
  auto progress = std::make_shared<CompletionProgress>(CompletionProgress{
      .host = host,
      .request = request,
      .style = {.id = fmt::format("{}-{:016x}", request.is_chat ? "chatcmpl" : "cmpl", random_bits()),
                .model = host.name,
                .created = std::time(nullptr),
                .is_chat = request.is_chat,
                .has_logprobs = request.logprobs >= 0,
                .has_token_ids = request.return_token_ids,
                .tokenizer = host.model.tokenizer_or_null()},
      .run = CompletionRun(host.inference, request, host.model.tokenizer_or_null(), host.model.end_tokens, wake),
      .begin = begin,
      .deadline = begin + host.time,
      .choices = std::vector<ChoicePiece>(request.stream ? 0 : count),
      .begun = std::vector<bool>(count)});
  for (std::size_t i = 0; i < progress->choices.size(); ++i) progress->choices[i].index = i;
  HttpResponse response{.deadline = progress->deadline};
  if (request.stream) {
    response.is_stream = true;
    response.type = "text/event-stream";
    response.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  }
  response.next = [progress](HttpResponse& late) { return advance(*progress, late); };
  return response;
}

}  // namespace crope::serve
