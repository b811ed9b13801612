#include "crope/serve/completion_run.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "crope/serve/api_error.h"
#include "tests/serve/served_model.h"

namespace crope::serve {
namespace {

struct Fixture {
  model::LanguageModel model = test::served_model();
  InferenceThread inference{model.model, {}};

  CompletionRun run(
      const CompletionRequest& request, std::function<void()> wake = [] {}) {
    return CompletionRun(inference, request, &*model.tokenizer, model.end_tokens, std::move(wake));
  }

  CompletionRequest request(const std::string& text, std::int64_t max_tokens) {
    return {.prompts = {{.ids = model.tokenizer->encode(text), .text = text}},
            .max_tokens = max_tokens,
            .sampling = {.temperature = 0},
            .ignore_eos = true};
  }
};

std::vector<ChoicePiece> collect(CompletionRun& run) {
  std::vector<ChoicePiece> pieces;
  while (!run.done()) {
    for (ChoicePiece& piece : run.next(std::chrono::steady_clock::now() + std::chrono::hours(1))) {
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

TEST(CompletionRun, PiecesAddUpToTheAnswer) {
  Fixture fixture;
  CompletionRequest request = fixture.request("hello the", 6);
  request.n = 2;
  CompletionRun run = fixture.run(request);
  std::vector<ChoicePiece> whole(2);
  for (ChoicePiece& piece : collect(run)) append_piece(whole[piece.index], std::move(piece));
  for (const ChoicePiece& choice : whole) {
    EXPECT_EQ(choice.new_ids.size(), 6u);
    EXPECT_EQ(choice.new_ids, whole[0].new_ids) << "the most likely tokens, whatever the seed";
    EXPECT_EQ(choice.finish, infer::FinishReason::length);
  }
  EXPECT_EQ(run.usage().completion_tokens, 12);
  EXPECT_EQ(run.usage().prompt_tokens, static_cast<std::int64_t>(request.prompts[0].ids.size()));
}

TEST(CompletionRun, NeedsNoModelForAnEcho) {
  Fixture fixture;
  CompletionRequest request = fixture.request("hello", 0);
  request.echo = true;
  fixture.inference.stop_admitting();  // whoever asks the model now is refused
  CompletionRun run = fixture.run(request);
  const std::vector<ChoicePiece> pieces = collect(run);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].text, "hello");
  EXPECT_EQ(pieces[0].finish, infer::FinishReason::length);
  EXPECT_THROW(fixture.run(fixture.request("hello", 1)), ApiError);
}

TEST(CompletionRun, NextDoesNotWaitWhereItIsWoken) {
  Fixture fixture;
  std::counting_semaphore<> woken(0);
  CompletionRun run = fixture.run(fixture.request("hello", 4), [&] { woken.release(); });
  std::size_t tokens = 0;
  while (!run.done()) {
    woken.acquire();
    for (const ChoicePiece& piece : run.next(std::chrono::steady_clock::now())) tokens += piece.new_ids.size();
  }
  EXPECT_EQ(tokens, 4u);
}

}  // namespace
}  // namespace crope::serve
