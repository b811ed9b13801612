#include "crope/serve/openai_response.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/text/fixtures.h"

namespace crope::serve {
namespace {

using infer::FinishReason;

const text::Tokenizer& names_tokenizer() {
  static const text::Tokenizer tokenizer(text::small_vocabulary());
  return tokenizer;
}

std::int32_t id_of(std::string_view bytes) {
  return names_tokenizer().find_token(bytes).value();
}

AnswerStyle style_of(bool is_chat, bool has_logprobs = true) {
  return {.id = "cmpl-1",
          .model = "m",
          .created = 7,
          .is_chat = is_chat,
          .has_logprobs = has_logprobs,
          .tokenizer = &names_tokenizer()};
}

// "he", half a character, and a token that the tokenizer does not have.
ChoicePiece three_tokens() {
  return {.index = 1,
          .text = "he\xEF\xBF\xBD",
          .tokens = {{.id = id_of("he"), .log_probability = std::nullopt},
                     {.id = id_of("\xC3"), .log_probability = -1.5, .top = {{id_of("a"), -0.5}, {id_of("\xC3"), -1.5}}},
                     {.id = 269, .log_probability = -2.25, .top = {{id_of("a"), -0.1}}}},
          .new_ids = {id_of("\xC3"), 269},
          .finish = FinishReason::length};
}

TEST(OpenAiResponse, NamesOfTokensDiffer) {
  EXPECT_EQ(token_name(id_of("he"), &names_tokenizer()), "he");
  EXPECT_EQ(token_name(id_of("\xC3"), &names_tokenizer()), "bytes:\\xc3");
  EXPECT_EQ(token_name(269, &names_tokenizer()), "token_id:269");
  EXPECT_EQ(token_name(5, nullptr), "token_id:5");
  EXPECT_EQ(token_name(std::nullopt, &names_tokenizer()), "");
  std::set<std::string> names;
  for (std::int32_t id = 0; id < 270; ++id) EXPECT_TRUE(names.insert(token_name(id, &names_tokenizer())).second) << id;
}

TEST(OpenAiResponse, Completion) {
  const std::vector<ChoicePiece> choices = {three_tokens()};
  const Json json = answer_json(style_of(false), choices, {.prompt_tokens = 1, .completion_tokens = 2});
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["created"], 7);
  EXPECT_EQ(json["usage"]["total_tokens"], 3);
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["index"], 1);
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_FALSE(choice.contains("token_ids"));
  const Json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json({"he", "bytes:\\xc3", "token_id:269"}));
  EXPECT_EQ(logprobs["token_logprobs"], Json({nullptr, -1.5, -2.25}));
  EXPECT_EQ(logprobs["text_offset"], Json({0, 2, 3}));
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  EXPECT_EQ(logprobs["top_logprobs"][1].size(), 2u);
  // The token itself is always among them, with the same number.
  EXPECT_EQ(logprobs["top_logprobs"][2]["token_id:269"], -2.25);
  EXPECT_EQ(logprobs["top_logprobs"][2]["a"], -0.1);
}

TEST(OpenAiResponse, WithoutLogprobsAndWithIds) {
  AnswerStyle style = style_of(false, /*has_logprobs=*/false);
  style.has_token_ids = true;
  const std::vector<ChoicePiece> choices = {three_tokens()};
  const Json choice = answer_json(style, choices, {})["choices"][0];
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(choice["token_ids"], Json({id_of("\xC3"), 269}));
}

TEST(OpenAiResponse, Chat) {
  const std::vector<ChoicePiece> choices = {three_tokens()};
  const Json json = answer_json(style_of(true), choices, {});
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_EQ(json["choices"][0]["message"]["role"], "assistant");
  const Json& content = json["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(content[1]["logprob"], -1.5);
  EXPECT_EQ(content[1]["bytes"], Json({0xC3}));
  EXPECT_EQ(content[1]["top_logprobs"][0]["token"], "a");
  EXPECT_TRUE(content[2]["bytes"].is_null());
}

TEST(OpenAiResponse, Chunks) {
  ChoicePiece piece{.index = 2, .text = "x"};
  const Json plain = chunk_json(style_of(false, false), piece, true);
  EXPECT_EQ(plain["object"], "text_completion");
  EXPECT_EQ(plain["choices"][0]["text"], "x");
  EXPECT_TRUE(plain["choices"][0]["finish_reason"].is_null());
  const Json first = chunk_json(style_of(true, false), piece, true),
             next = chunk_json(style_of(true, false), piece, false);
  EXPECT_EQ(first["object"], "chat.completion.chunk");
  EXPECT_EQ(first["choices"][0]["delta"], Json({{"role", "assistant"}, {"content", "x"}}));
  EXPECT_EQ(next["choices"][0]["delta"], Json({{"content", "x"}}));
  piece.text.clear();
  piece.finish = FinishReason::end_token;
  const Json last = chunk_json(style_of(true, false), piece, false);
  EXPECT_EQ(last["choices"][0]["delta"], Json::object());
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  const Json usage = usage_chunk_json(style_of(false), {.prompt_tokens = 2, .completion_tokens = 3});
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["total_tokens"], 5);
}

TEST(OpenAiResponse, ReasonsToEnd) {
  EXPECT_EQ(finish_json(FinishReason::stop), "stop");
  EXPECT_EQ(finish_json(FinishReason::end_token), "stop");
  EXPECT_EQ(finish_json(FinishReason::length), "length");
  EXPECT_EQ(finish_json(FinishReason::window), "length");
  EXPECT_TRUE(finish_json(FinishReason::none).is_null());
}

}  // namespace
}  // namespace crope::serve
