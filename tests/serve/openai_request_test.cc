#include "crope/serve/openai_request.h"

#include <gtest/gtest.h>

#include "crope/serve/api_error.h"
#include "tests/text/fixtures.h"

namespace crope::serve {
namespace {

using Ids = std::vector<std::int32_t>;

const text::Tokenizer& small_tokenizer() {
  static const text::Tokenizer tokenizer(text::small_vocabulary());
  return tokenizer;
}

const infer::ChatTemplate& plain_chat() {
  static const infer::ChatTemplate chat;
  return chat;
}

RequestContext small_context() {
  return {.vocab_size = 270,
          .window = 8,
          .tokenizer = &small_tokenizer(),
          .begin_token = 0,
          .max_choices = 6,
          .seed = 77,
          .chat = &plain_chat()};
}

CompletionRequest completion(const std::string& body, const RequestContext& context = small_context()) {
  return completion_request(parse_body(body), context);
}

CompletionRequest chat(const std::string& body) {
  RequestContext context = small_context();
  context.window = 100;
  return chat_request(parse_body(body), context);
}

TEST(OpenAiRequest, Defaults) {
  const CompletionRequest request = completion(R"({"prompt":"hello"})");
  ASSERT_EQ(request.prompts.size(), 1u);
  EXPECT_EQ(request.prompts[0].ids, small_tokenizer().encode("hello"));
  EXPECT_EQ(request.prompts[0].text, "hello");
  EXPECT_EQ(request.n, 1);
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.sampling.temperature, 1);
  EXPECT_EQ(request.sampling.top_p, 1);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.seed, 77u);
  EXPECT_EQ(request.logprobs, -1);
  EXPECT_TRUE(request.stop.empty());
  EXPECT_FALSE(request.echo || request.stream || request.include_usage || request.ignore_eos || request.is_chat);
}

// 20 kB of a request could ask for 144 MB of an answer.
TEST(OpenAiRequest, LogProbabilitiesOfOneAnswerAreBounded) {
  RequestContext context = small_context();
  context.window = 4096;
  context.max_choices = 256;
  const std::string many = Json(Ids(2000, 5)).dump();
  const auto code_of = [&](const std::string& rest) {
    try {
      completion(R"({"prompt":)" + many + rest + "}", context);
    } catch (const ApiError& e) {
      EXPECT_EQ(e.status(), 400);
      return e.code() + " " + e.what();
    }
    return std::string("taken");
  };
  EXPECT_EQ(code_of(R"(,"echo":true,"logprobs":20,"max_tokens":0,"n":6)"), "taken");
  const std::string refused = code_of(R"(,"echo":true,"logprobs":20,"max_tokens":0,"n":7)");
  EXPECT_TRUE(refused.starts_with("too_many_logprobs ")) << refused;
  EXPECT_NE(refused.find("294000"), std::string::npos) << refused;
  EXPECT_NE(refused.find("262144"), std::string::npos) << refused;
  EXPECT_EQ(code_of(R"(,"logprobs":1,"max_tokens":2000,"n":65)"), "taken");
  EXPECT_TRUE(code_of(R"(,"logprobs":1,"max_tokens":2000,"n":66)").starts_with("too_many"));
  EXPECT_EQ(code_of(R"(,"logprobs":20,"max_tokens":9223372036854775807)"), "taken") << "the window bounds it";
  EXPECT_TRUE(code_of(R"(,"logprobs":20,"max_tokens":9223372036854775807,"n":7)").starts_with("too_many"));
  EXPECT_EQ(code_of(R"(,"max_tokens":2000,"n":256)"), "taken") << "without log-probabilities";
}

TEST(OpenAiRequest, NullIsAsGoodAsAbsent) {
  const CompletionRequest request = completion(
      R"({"prompt":"a","n":null,"max_tokens":null,"temperature":null,"stop":null,"logprobs":null,"echo":null,
          "stream":null,"stream_options":null,"seed":null,"suffix":null,"logit_bias":null,"model":null,"user":"x"})");
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.sampling.seed, 77u);
}

TEST(OpenAiRequest, FourKindsOfPrompts) {
  EXPECT_EQ(completion(R"({"prompt":[5,6,7]})").prompts[0].ids, (Ids{5, 6, 7}));
  const auto texts = completion(R"({"prompt":["a","hello"]})").prompts;
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[1].text, "hello");
  const auto lists = completion(R"({"prompt":[[5],[6,7]]})").prompts;
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[1].ids, (Ids{6, 7}));
  EXPECT_EQ(lists[1].text, small_tokenizer().decode(Ids{6, 7}));
  // Special tokens count as such, an empty text is the end of one, and a padded id has no text.
  EXPECT_EQ(completion(R"({"prompt":"<|endoftext|>"})").prompts[0].ids, Ids{0});
  EXPECT_EQ(completion(R"({"prompt":""})").prompts[0].ids, Ids{0});
  EXPECT_EQ(completion(R"({"prompt":""})").prompts[0].text, "");
  EXPECT_EQ(completion(R"({"prompt":[]})").prompts[0].ids, Ids{0});
  EXPECT_EQ(completion(R"({"prompt":[269]})").prompts[0].text, "");
}

TEST(OpenAiRequest, EveryField) {
  const CompletionRequest request = completion(
      R"({"prompt":"a","n":3,"max_tokens":0,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,
          "repetition_penalty":1.2,"seed":-5,"stop":["x","yz"],"logprobs":5,"echo":true,"stream":true,
          "stream_options":{"include_usage":true},"ignore_eos":true,"return_token_ids":true,"best_of":3})");
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.max_tokens, 0);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.min_p, 0.1);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.2);
  EXPECT_EQ(request.sampling.seed, static_cast<std::uint64_t>(-5));
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(request.logprobs, 5);
  EXPECT_TRUE(request.echo && request.stream && request.include_usage && request.ignore_eos &&
              request.return_token_ids);
  EXPECT_EQ(completion(R"({"prompt":"a","top_k":-1,"stop":"s","max_tokens":3.0})").stop, std::vector<std::string>{"s"});
  EXPECT_EQ(completion(R"({"prompt":"a","top_p":0})").sampling.temperature, 0);
}

TEST(OpenAiRequest, StopsAreMeasuredInCharacters) {
  std::string stop;
  for (std::int64_t i = 0; i < kLongestStop; ++i) stop += "é";
  const auto body = [&] { return Json{{"prompt", "a"}, {"stop", stop}}.dump(); };
  EXPECT_EQ(completion(body().c_str()).stop, std::vector<std::string>{stop});
  stop += "x";
  EXPECT_THROW(completion(body().c_str()), ApiError);
}

TEST(OpenAiRequest, RefusalsNameTheField) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({})", "prompt"},
      {R"({"prompt":3})", "prompt"},
      {R"({"prompt":{}})", "prompt"},
      {R"({"prompt":[{}]})", "prompt"},
      {R"({"prompt":[1,"a"]})", "prompt[1]"},
      {R"({"prompt":[1.5]})", "prompt[0]"},
      {R"({"prompt":[-1]})", "prompt[0]"},
      {R"({"prompt":[270]})", "prompt[0]"},
      {R"({"prompt":[99999999999999999999]})", "prompt[0]"},
      {R"({"prompt":[[1],[270]]})", "prompt[0]"},
      {R"({"prompt":["a",[1],3]})", "prompt"},
      {R"({"prompt":[1,2,3,4,5,6,7,8,9]})", "prompt"},
      {R"({"prompt":[[1],[1],[1],[1],[1],[1],[1]]})", "prompt"},
      {R"({"prompt":"a","n":0})", "n"},
      {R"({"prompt":"a","n":7})", "n"},
      {R"({"prompt":["a","b"],"n":4})", "n"},
      {R"({"prompt":"a","n":"1"})", "n"},
      {R"({"prompt":"a","n":1.5})", "n"},
      {R"({"prompt":"a","max_tokens":-1})", "max_tokens"},
      {R"({"prompt":"a","max_tokens":1e300})", "max_tokens"},
      {R"({"prompt":"a","max_tokens":18446744073709551615})", "max_tokens"},
      {R"({"prompt":"a","temperature":-0.1})", "temperature"},
      {R"({"prompt":"a","temperature":"hot"})", "temperature"},
      {R"({"prompt":"a","temperature":1e9})", "temperature"},
      {R"({"prompt":"a","top_p":1.1})", "top_p"},
      {R"({"prompt":"a","top_k":-2})", "top_k"},
      {R"({"prompt":"a","min_p":-1})", "min_p"},
      {R"({"prompt":"a","repetition_penalty":0})", "repetition_penalty"},
      {R"({"prompt":"a","seed":1.5})", "seed"},
      {R"({"prompt":"a","stop":3})", "stop"},
      {R"({"prompt":"a","stop":""})", "stop"},
      {R"({"prompt":"a","stop":[3]})", "stop"},
      {R"({"prompt":"a","logprobs":21})", "logprobs"},
      {R"({"prompt":"a","logprobs":true})", "logprobs"},
      {R"({"prompt":"a","echo":1})", "echo"},
      {R"({"prompt":"a","stream":"yes"})", "stream"},
      {R"({"prompt":"a","stream_options":3})", "stream_options"},
      {R"({"prompt":"a","stream_options":{"include_usage":3}})", "include_usage"},
      {R"({"prompt":"a","best_of":2})", "best_of"},
      {R"({"prompt":"a","suffix":"x"})", "suffix"},
      {R"({"prompt":"a","logit_bias":{"1":2}})", "logit_bias"},
      {R"({"prompt":"a","presence_penalty":1})", "presence_penalty"},
      {R"({"prompt":"a","response_format":{"type":"json_object"}})", "response_format"},
      {R"({"prompt":"a","model":3})", "model"},
  };
  for (const auto& [body, param] : cases) {
    try {
      completion(body);
      ADD_FAILURE() << "taken: " << body;
    } catch (const ApiError& e) {
      EXPECT_EQ(e.status(), 400) << body;
      EXPECT_EQ(e.param(), param) << body << ": " << e.what();
      EXPECT_LT(std::string(e.what()).size(), 300u);
    }
  }
}

TEST(OpenAiRequest, AScoredPromptMayHaveOneTokenMoreThanTheWindow) {
  const std::string ids = R"({"prompt":[1,2,3,4,5,6,7,8,9],"echo":true,"logprobs":1,"max_tokens":)";
  EXPECT_EQ(completion(ids + "1}").prompts[0].ids.size(), 9u);
  EXPECT_EQ(completion(ids + "0}").prompts[0].ids.size(), 9u);
  try {
    completion(ids + "2}");
    ADD_FAILURE();
  } catch (const ApiError& e) {
    EXPECT_EQ(e.code(), "context_length_exceeded");
  }
}

TEST(OpenAiRequest, WithoutATokenizer) {
  RequestContext context = small_context();
  context.tokenizer = nullptr;
  context.begin_token = std::nullopt;
  EXPECT_EQ(completion(R"({"prompt":[3]})", context).prompts[0].ids, Ids{3});
  for (const char* body : {R"({"prompt":"a"})", R"({"prompt":""})", R"({"prompt":[3],"stop":"x"})"}) {
    EXPECT_THROW(completion(body, context), ApiError) << body;
  }
  EXPECT_THROW(chat_request(parse_body(R"({"messages":[{"role":"user","content":"a"}]})"), context), ApiError);
  EXPECT_THROW(tokenize_request(parse_body(R"({"prompt":"a"})"), context), ApiError);
}

TEST(OpenAiRequest, Chat) {
  const CompletionRequest request =
      chat(R"({"messages":[{"role":"user","content":"<|endoftext|>"}],"logprobs":true,"top_logprobs":2,"stop":"x"})");
  EXPECT_TRUE(request.is_chat);
  EXPECT_EQ(request.logprobs, 2);
  EXPECT_EQ(request.max_tokens, 100);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "\nUser:"}));
  ASSERT_EQ(request.prompts.size(), 1u);
  EXPECT_EQ(request.prompts[0].text, "User: <|endoftext|>\nAssistant:");
  for (const std::int32_t id : request.prompts[0].ids) EXPECT_NE(id, 0) << "nobody smuggles a special token in";
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":"a"}],"max_tokens":4})").max_tokens, 4);
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":"a"}],"max_tokens":4,"max_completion_tokens":5})").max_tokens,
            5);
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":"a"}],"logprobs":false})").logprobs, -1);
  for (const char* body : {R"({})", R"({"messages":[{"role":"user","content":"a"}],"logprobs":1})",
                           R"({"messages":[{"role":"user","content":"a"}],"top_logprobs":1})",
                           R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}]})"}) {
    EXPECT_THROW(chat(body), ApiError) << body;
  }
  EXPECT_THROW(
      chat_request(parse_body(R"({"messages":[{"role":"user","content":"too long for it"}]})"), small_context()),
      ApiError);
}

TEST(OpenAiRequest, Tokens) {
  const RequestContext context = small_context();
  EXPECT_EQ(tokenize_request(parse_body(R"({"prompt":"<|endoftext|>hello","add_special_tokens":false})"), context),
            small_tokenizer().encode_with_special("<|endoftext|>hello"));
  EXPECT_TRUE(tokenize_request(parse_body(R"({"prompt":""})"), context).empty());
  EXPECT_THROW(tokenize_request(parse_body(R"({"prompt":["a"]})"), context), ApiError);
  EXPECT_EQ(detokenize_request(parse_body(R"({"tokens":[1,2]})"), context), (Ids{1, 2}));
  EXPECT_THROW(detokenize_request(parse_body(R"({"tokens":[269]})"), context), ApiError) << "it has no text";
  EXPECT_THROW(detokenize_request(parse_body(R"({"tokens":3})"), context), ApiError);
}

TEST(OpenAiRequest, BodiesThatAreNoObject) {
  for (const std::string& body :
       {std::string(""), std::string("{"), std::string("[]"), std::string("3"), std::string("null"),
        std::string("{\"a\":1,\"a\":2}"), std::string("{\"prompt\":\"\xff\"}"), std::string("{\"prompt\":\"\\ud800\"}"),
        std::string("{\"a\":1e999}"), std::string(100000, '['), std::string(1000, '{')}) {
    EXPECT_THROW(parse_body(body), Error) << body.substr(0, 40);
  }
  EXPECT_EQ(parse_body("{\"a\":\"\\u0000\"}")["a"].get<std::string>(), std::string(1, '\0'));
}

}  // namespace
}  // namespace crope::serve
