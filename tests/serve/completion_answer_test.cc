#include "crope/serve/completion_answer.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "tests/serve/served_model.h"

namespace crope::serve {
namespace {

class CompletionAnswer : public testing::Test {
 protected:
  // The whole answer, or all events of a stream.
  HttpResponse answer(const CompletionRequest& request, std::chrono::milliseconds time = std::chrono::hours(1)) {
    std::counting_semaphore<> woken(0);
    const CompletionHost host{model_, "m", time, inference_, metrics_};
    const HttpResponse late = completion_answer(host, request, [&] { woken.release(); });
    HttpResponse response;
    while (!late.next(response)) woken.acquire();
    return response;
  }

  model::LanguageModel model_ = test::served_model();
  Metrics metrics_;
  InferenceThread inference_{model_.model, {}};
};

TEST_F(CompletionAnswer, AStreamHasTheTextOfTheWholeAnswer) {
  CompletionRequest request{.prompts = {{.ids = model_.tokenizer->encode("hello")}}, .max_tokens = 6};
  const Json whole = parse_json(answer(request).body, "answer");
  EXPECT_EQ(whole["model"], "m");
  request.stream = true;
  const std::string events = answer(request).body;
  std::string text;
  for (std::size_t begin = events.find("data: {"); begin != events.npos; begin = events.find("data: {", begin)) {
    const std::size_t end = events.find("\n\n", begin);
    text += parse_json(events.substr(begin + 6, end - begin - 6), "event")["choices"][0]["text"].get<std::string>();
    begin = end;
  }
  EXPECT_EQ(text, whole["choices"][0]["text"]);
  EXPECT_TRUE(events.ends_with("data: [DONE]\n\n"));
}

TEST_F(CompletionAnswer, PastItsTimeItIsRefused) {
  CompletionRequest request{
      .prompts = {{.ids = model_.tokenizer->encode("hello")}}, .max_tokens = 40, .ignore_eos = true};
  EXPECT_EQ(answer(request, std::chrono::milliseconds(0)).status, 504);
  request.stream = true;
  EXPECT_NE(answer(request, std::chrono::milliseconds(0)).body.find("took too long"), std::string::npos);
}

}  // namespace
}  // namespace crope::serve
