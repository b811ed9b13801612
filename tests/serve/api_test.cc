#include "crope/serve/api.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "crope/infer/chat_template.h"
#include "crope/infer/generation.h"
#include "crope/serve/api_error.h"
#include "tests/serve/served_model.h"

namespace crope::serve {
namespace {

using Ids = std::vector<std::int32_t>;
using test::served_model;

struct Answer {
  int status;
  Json json;
};

// A request whose late answer is waited for as the server does: whenever it is woken, and at the deadline.
struct Asked {
  std::shared_ptr<std::counting_semaphore<>> woken = std::make_shared<std::counting_semaphore<>>(0);
  HttpResponse response;

  Asked(Api& api, HttpRequest request) {
    request.wake = [woken = woken] { woken->release(); };
    response = api.answer(request);
  }

  // What has come since the last call; waits for something unless the answer is complete.
  HttpResponse next(bool& is_complete) {
    for (;;) {
      HttpResponse part;
      is_complete = response.next(part);
      if (is_complete || !part.body.empty()) return part;
      const auto until = std::min(response.deadline, std::chrono::steady_clock::now() + std::chrono::hours(1));
      [[maybe_unused]] const bool in_time = woken->try_acquire_until(until);
    }
  }

  HttpResponse whole() {
    if (!response.next) return response;
    bool is_complete = false;
    return next(is_complete);
  }
};

Answer post(Api& api, const std::string& path, const Json& body) {
  Asked asked(api, {.method = "POST", .path = path, .body = to_text(body)});
  EXPECT_FALSE(asked.response.is_stream);
  const HttpResponse response = asked.whole();
  return {response.status, parse_json(response.body, path)};
}

HttpResponse get(Api& api, const std::string& path) {
  return api.answer({.method = "GET", .path = path});
}

// The events of a stream, without the last, which is [DONE].
std::vector<Json> stream(Api& api, const std::string& path, Json body) {
  body["stream"] = true;
  Asked asked(api, {.method = "POST", .path = path, .body = to_text(body)});
  EXPECT_EQ(asked.response.status, 200) << asked.response.body;
  EXPECT_EQ(asked.response.type, "text/event-stream");
  EXPECT_TRUE(asked.response.is_stream);
  std::string text;
  for (bool is_complete = false; !is_complete;) text += asked.next(is_complete).body;
  std::vector<Json> events;
  bool is_done = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find("\n\n", begin);
    EXPECT_NE(end, std::string::npos);
    EXPECT_EQ(text.substr(begin, 6), "data: ");
    EXPECT_FALSE(is_done);
    const std::string data = text.substr(begin + 6, end - begin - 6);
    if (data == "[DONE]") {
      is_done = true;
    } else {
      events.push_back(parse_json(data, "event"));
    }
    begin = end + 2;
  }
  EXPECT_TRUE(is_done);
  return events;
}

infer::Generation generated(const model::LanguageModel& model, const infer::GenerationRequest& request) {
  infer::Generation result;
  infer::generate(model.model, &*model.tokenizer, std::span(&request, 1), {},
                  {.on_done = [&](std::size_t, const infer::Generation& done) { result = done; }});
  return result;
}

TEST(Api, CompletionsAreThoseOfGenerate) {
  const model::LanguageModel model = served_model();
  Api api(model, {});
  const Ids prompt = model.tokenizer->encode("hello the");
  for (const double temperature : {0.0, 1.0}) {
    const infer::Generation expected =
        generated(model, {.prompt = prompt,
                          .max_tokens = 20,
                          .sampling = {.temperature = temperature, .top_k = 50, .seed = 3},
                          .end_tokens = {0}});
    const Json body = {{"prompt", "hello the"}, {"max_tokens", 20}, {"temperature", temperature},
                       {"top_k", 50},           {"seed", 3},        {"return_token_ids", true}};
    const auto [status, json] = post(api, "/v1/completions", body);
    ASSERT_EQ(status, 200) << json;
    EXPECT_EQ(json["choices"][0]["text"], expected.text);
    EXPECT_EQ(json["choices"][0]["token_ids"], Json(expected.ids));
    EXPECT_EQ(json["usage"]["prompt_tokens"], prompt.size());
    EXPECT_EQ(json["usage"]["completion_tokens"], expected.ids.size());
    std::string text;
    Ids ids;
    const auto events = stream(api, "/v1/completions", body);
    for (const Json& event : events) {
      text += event["choices"][0]["text"].get<std::string>();
      for (const Json& id : event["choices"][0]["token_ids"]) ids.push_back(id);
    }
    EXPECT_EQ(text, expected.text);
    EXPECT_EQ(ids, expected.ids);
    EXPECT_FALSE(events.back()["choices"][0]["finish_reason"].is_null());
  }
}

// What lm_eval asks for: one entry for each token of the prompt and one for the token behind it, whatever that is.
TEST(Api, EchoHasAnEntryForEachTokenAndOneMore) {
  model::LanguageModel model = served_model(/*window=*/24);
  const Ids ids = test::draw_ids(4, 12);
  // The most likely token behind the prompt ends a text.
  const infer::Generation next = generated(model, {.prompt = ids, .max_tokens = 1});
  for (const bool ends : {false, true}) {
    model.end_tokens = {ends ? next.ids[0] : 0};
    Api api(model, {});
    const Json body = {{"prompt", {ids, ids}}, {"max_tokens", 1},  {"logprobs", 1},
                       {"echo", true},         {"temperature", 0}, {"seed", 1234}};
    const auto [status, json] = post(api, "/v1/completions", body);
    ASSERT_EQ(status, 200) << json;
    ASSERT_EQ(json["choices"].size(), 2u);
    const at::Tensor expected = at::log_softmax(test::uncached_logits(model.model, ids).to(at::kDouble), -1);
    for (const Json& choice : json["choices"]) {
      const Json& values = choice["logprobs"]["token_logprobs"];
      const Json& tops = choice["logprobs"]["top_logprobs"];
      ASSERT_EQ(values.size(), 13u);
      ASSERT_EQ(tops.size(), 13u);
      ASSERT_EQ(choice["logprobs"]["tokens"].size(), 13u);
      EXPECT_TRUE(values[0].is_null());
      for (std::size_t t = 1; t < 13; ++t) {
        const std::int32_t id = t < 12 ? ids[t] : next.ids[0];
        const auto row = static_cast<std::int64_t>(t) - 1;
        EXPECT_NEAR(values[t].get<double>(), expected[row][id].item<double>(), 1e-4);
        double largest = -1e9;
        for (const auto& [name, value] : tops[t].items()) largest = std::max(largest, value.get<double>());
        const bool is_greedy = expected[row].argmax().item<std::int64_t>() == id;
        EXPECT_EQ(values[t].get<double>() == largest, is_greedy) << "by equality of doubles, token " << t;
      }
    }
  }
}

TEST(Api, EchoOfAPromptThatGoesOneTokenBeyondTheWindow) {
  const model::LanguageModel model = served_model(/*window=*/24);
  Api api(model, {});
  const Ids ids = test::draw_ids(4, 25);
  const auto [status, json] =
      post(api, "/v1/completions",
           {{"prompt", {ids}}, {"max_tokens", 1}, {"logprobs", 1}, {"echo", true}, {"temperature", 0}});
  ASSERT_EQ(status, 200) << json;
  const Json& values = json["choices"][0]["logprobs"]["token_logprobs"];
  ASSERT_EQ(values.size(), 26u);
  EXPECT_TRUE(values[24].is_number());
  EXPECT_TRUE(values[25].is_null());
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
}

TEST(Api, NothingNewButTheEcho) {
  const model::LanguageModel model = served_model();
  Api api(model, {});
  const auto [status, json] = post(api, "/v1/completions", {{"prompt", "hello"}, {"max_tokens", 0}, {"echo", true}});
  EXPECT_EQ(json["choices"][0]["text"], "hello");
  EXPECT_EQ(json["usage"]["completion_tokens"], 0);
  const Json scored =
      post(api, "/v1/completions", {{"prompt", "hello the"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 2}}).json;
  const std::size_t tokens = model.tokenizer->encode("hello the").size();
  EXPECT_EQ(scored["choices"][0]["logprobs"]["tokens"].size(), tokens);
  EXPECT_EQ(scored["choices"][0]["text"], "hello the");
  // A single token has nothing before it.
  const Json single =
      post(api, "/v1/completions", {{"prompt", {5}}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 2}}).json;
  EXPECT_EQ(single["choices"][0]["logprobs"]["token_logprobs"], Json::array({nullptr}));
  const Json single_next =
      post(api, "/v1/completions", {{"prompt", {5}}, {"max_tokens", 1}, {"echo", true}, {"logprobs", 2}}).json;
  EXPECT_EQ(single_next["choices"][0]["logprobs"]["token_logprobs"].size(), 2u);
  const Json nothing = post(api, "/v1/completions", {{"prompt", "hello"}, {"max_tokens", 0}}).json;
  EXPECT_EQ(nothing["choices"][0]["text"], "");
}

TEST(Api, SeveralAnswersHaveSeedsOfTheirOwnAndShareThePrompt) {
  const model::LanguageModel model = served_model();
  Api api(model, {});
  const Ids prompt = test::draw_ids(1, 30);
  const Json json = post(api, "/v1/completions",
                         {{"prompt", prompt}, {"n", 3}, {"seed", 5}, {"max_tokens", 10}, {"return_token_ids", true}})
                        .json;
  ASSERT_EQ(json["choices"].size(), 3u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const infer::Generation expected = generated(
        model, {.prompt = prompt, .max_tokens = 10, .sampling = {.temperature = 1, .seed = 5 + i}, .end_tokens = {0}});
    EXPECT_EQ(json["choices"][i]["index"], i);
    EXPECT_EQ(json["choices"][i]["token_ids"], Json(expected.ids));
  }
  EXPECT_NE(get(api, "/metrics").body.find("crope_prompt_tokens_shared_total 58\n"), std::string::npos);
}

TEST(Api, StopStringsAreNotPartOfTheText) {
  const model::LanguageModel model = served_model();
  Api api(model, {});
  const Json whole = post(api, "/v1/completions", {{"prompt", "hello"}, {"max_tokens", 30}, {"temperature", 0}}).json;
  const std::string text = whole["choices"][0]["text"];
  ASSERT_GT(text.size(), 8u);
  // Cut in the middle of the text, at a whole character.
  std::size_t place = 4;
  while ((static_cast<unsigned char>(text[place]) & 0xC0) == 0x80) ++place;
  std::size_t end = place + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  const std::string stop = text.substr(place, end - place);
  const Json body = {{"prompt", "hello"}, {"max_tokens", 30}, {"temperature", 0}, {"stop", stop}};
  const Json cut = post(api, "/v1/completions", body).json;
  EXPECT_EQ(cut["choices"][0]["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "stop");
  std::string streamed;
  for (const Json& event : stream(api, "/v1/completions", body)) {
    streamed += event["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(streamed, cut["choices"][0]["text"]);
}

TEST(Api, StreamsCountAndReportProbabilities) {
  const model::LanguageModel model = served_model();
  Api api(model, {});
  const Json body = {{"prompt", "hello"}, {"max_tokens", 5},         {"temperature", 0},
                     {"logprobs", 2},     {"ignore_eos", true},      {"stream_options", {{"include_usage", true}}},
                     {"echo", true},      {"return_token_ids", true}};
  const std::vector<Json> events = stream(api, "/v1/completions", body);
  ASSERT_EQ(events.size(), 6u) << "one for each token, and the usage";
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 5);
  const Json whole = post(api, "/v1/completions", body).json["choices"][0];
  Json names = Json::array(), offsets = Json::array();
  for (std::size_t i = 0; i < 5; ++i) {
    for (const Json& name : events[i]["choices"][0]["logprobs"]["tokens"]) names.push_back(name);
    for (const Json& offset : events[i]["choices"][0]["logprobs"]["text_offset"]) offsets.push_back(offset);
  }
  EXPECT_EQ(names, whole["logprobs"]["tokens"]);
  EXPECT_EQ(offsets, whole["logprobs"]["text_offset"]);
}

TEST(Api, Chat) {
  const model::LanguageModel model = served_model(/*window=*/128);
  Api api(model, {});
  const Json body = {{"messages", {{{"role", "user"}, {"content", "hello"}}}}, {"max_tokens", 12}, {"temperature", 0}};
  const auto [status, json] = post(api, "/v1/chat/completions", body);
  ASSERT_EQ(status, 200) << json;
  const infer::Generation expected = generated(model, {.prompt = model.tokenizer->encode("User: hello\nAssistant:"),
                                                       .max_tokens = 12,
                                                       .stop = infer::ChatTemplate().stops(),
                                                       .end_tokens = {0}});
  const std::string text = expected.text.starts_with(' ') ? expected.text.substr(1) : expected.text;
  EXPECT_EQ(json["choices"][0]["message"]["content"], text);
  std::string streamed;
  const auto events = stream(api, "/v1/chat/completions", body);
  EXPECT_EQ(events.front()["choices"][0]["delta"]["role"], "assistant");
  for (const Json& event : events) streamed += event["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(streamed, text);
}

TEST(Api, Tokens) {
  const model::LanguageModel model = served_model();
  Api api(model, {});
  EXPECT_EQ(post(api, "/tokenize", {{"prompt", "<|endoftext|>"}, {"add_special_tokens", false}}).json["tokens"],
            Json({0}));
  const Json tokens = post(api, "/tokenize", {{"prompt", "hello \xE4\xBD\xA0"}}).json["tokens"];
  EXPECT_EQ(post(api, "/detokenize", {{"tokens", tokens}}).json["prompt"], "hello \xE4\xBD\xA0");
  const Json info = parse_json(get(api, "/tokenizer_info").body, "info");
  EXPECT_EQ(info["eos_token"], "<|endoftext|>");
  EXPECT_TRUE(info.contains("chat_template"));
}

TEST(Api, OtherRoutes) {
  const model::LanguageModel model = served_model();
  Api api(model, {.name = "small"});
  EXPECT_EQ(get(api, "/health").status, 200);
  EXPECT_EQ(parse_json(get(api, "/v1/models").body, "models")["data"][0]["id"], "small");
  EXPECT_EQ(parse_json(get(api, "/api/model").body, "model")["variant"], "crope_qk");
  EXPECT_EQ(parse_json(get(api, "/api/model").body, "model")["chat"], "plain");
  EXPECT_EQ(parse_json(get(api, "/api/run").body, "run")["run"], false);
  EXPECT_EQ(get(api, "/").type, "text/html; charset=utf-8");
  EXPECT_EQ(post(api, "/api/attention", {{"text", "hello"}, {"layer", 1}, {"head", 0}}).status, 200);
  EXPECT_EQ(post(api, "/api/attention", {{"text", "hello"}, {"layer", 2}, {"head", 0}}).status, 400);
  EXPECT_EQ(api.answer({.method = "GET", .path = "/api/run", .parameters = {{"after", "x"}}}).status, 400);
  EXPECT_EQ(get(api, "/nothing").status, 404);
  const HttpResponse wrong_method = get(api, "/v1/completions");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.headers, (decltype(wrong_method.headers){{"Allow", "POST"}}));
  EXPECT_EQ(post(api, "/v1/completions", {{"prompt", 3}}).json["error"]["param"], "prompt");
}

TEST(Api, AsksForTheKey) {
  const model::LanguageModel model = served_model();
  Api api(model, {.key = ApiKey("abc")});
  EXPECT_EQ(get(api, "/health").status, 200);
  EXPECT_EQ(get(api, "/v1/models").status, 401);
  EXPECT_EQ(get(api, "/nothing").status, 401);
  EXPECT_EQ(api.answer({.method = "GET", .path = "/v1/models", .authorization = "Bearer abd"}).status, 401);
  EXPECT_EQ(api.answer({.method = "GET", .path = "/v1/models", .authorization = "Bearer abc"}).status, 200);
}

TEST(Api, ClientsThatGoFreeTheirPlaces) {
  const model::LanguageModel model = served_model(/*window=*/1 << 17);
  Api api(model, {.inference = {.max_sequences = 1}});
  const Json endless = {{"prompt", "hello"}, {"max_tokens", 1 << 17}, {"ignore_eos", true}};
  {
    const Asked gone(api, {.method = "POST", .path = "/v1/completions", .body = to_text(endless)});
    EXPECT_TRUE(gone.response.next);
  }
  Json streamed = endless;
  streamed["stream"] = true;
  {
    Asked broken(api, {.method = "POST", .path = "/v1/completions", .body = to_text(streamed)});
    bool is_complete = false;
    for (int i = 0; i < 3; ++i) broken.next(is_complete);
    EXPECT_FALSE(is_complete);
  }
  EXPECT_EQ(post(api, "/v1/completions", {{"prompt", "hello"}, {"max_tokens", 3}}).status, 200) << "the place is free";
}

TEST(Api, AnAnswerThatTakesTooLong) {
  const model::LanguageModel model = served_model(/*window=*/1 << 17);
  Api api(model, {.request_time = std::chrono::milliseconds(30)});
  const Json endless = {{"prompt", "hello"}, {"max_tokens", 1 << 17}, {"ignore_eos", true}};
  EXPECT_EQ(post(api, "/v1/completions", endless).status, 504);
}

TEST(Api, DrainsAndIsFull) {
  const model::LanguageModel model = served_model();
  Api api(model, {.inference = {.max_waiting = 2}});
  EXPECT_EQ(post(api, "/v1/completions", {{"prompt", "a"}, {"n", 3}}).status, 429);
  api.drain();
  EXPECT_EQ(post(api, "/v1/completions", {{"prompt", "a"}}).status, 503);
  EXPECT_EQ(get(api, "/health").status, 200);
}

}  // namespace
}  // namespace crope::serve
