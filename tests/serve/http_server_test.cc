#include "crope/serve/http_server.h"

#include <gtest/gtest.h>

#include <list>
#include <thread>

#include "crope/base/error.h"
#include "tests/serve/running_server.h"

namespace crope::serve {
namespace {

using std::chrono::milliseconds;
using test::post_text;
using test::RawClient;
using Running = test::RunningServer;

TEST(HttpServer, AnswersAndKeepsConnections) {
  Running running;
  RawClient client(running.server.port());
  for (int i = 0; i < 3; ++i) {
    client.send(post_text("/v1/completions", R"({"prompt":"hello","max_tokens":2})"));
    const test::RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200) << answer.body;
    for (const char* line : {"Content-Type: application/json\r\n", "X-Content-Type-Options: nosniff\r\n",
                             "X-Frame-Options: DENY\r\n", "Referrer-Policy: no-referrer\r\n"}) {
      EXPECT_NE(answer.head.find(line), std::string::npos) << line << answer.head;
    }
  }
  client.send("GET /health?x=1 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, R"({"status":"ok"})");
  client.send("HEAD /health HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string head = client.read_all();
  EXPECT_NE(head.find("Content-Length: 15\r\n"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST(HttpServer, ASlowOrIdleConnectionTakesNothingFromOthers) {
  Running running;
  std::list<RawClient> held;
  for (int i = 0; i < 100; ++i) {
    held.emplace_back(running.server.port());
    for (const char* headers :
         {"Content-Length: 500", "Transfer-Encoding: chunked", "Content-Length: 500\r\nExpect: 100-continue"}) {
      held.emplace_back(running.server.port());
      held.back().send("POST /v1/completions HTTP/1.1\r\n" + std::string(headers) + "\r\n\r\n");
    }
  }
  running.expect_alive();
}

TEST(HttpServer, TooManyConnections) {
  Running running({.max_connections = 3}, /*window=*/1 << 17);
  std::list<RawClient> clients;
  for (int i = 0; i < 10; ++i) clients.emplace_back(running.server.port());
  running.expect_alive();  // idle ones make room
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back(running.server.port());
    clients.back().send("POST /v1/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n");
  }
  running.expect_alive();  // so do withheld ones
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(running.server.port());
    clients.back().send(
        post_text("/v1/completions", R"({"prompt":"hello","ignore_eos":true,"max_tokens":100000,"stream":true})"));
    clients.back().read_until("data: ");
  }
  const std::string answer = running.answer("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
  EXPECT_NE(answer.find(R"({"error":{"message":)"), std::string::npos);
}

TEST(HttpServer, DrainsThenEnds) {
  Running running({}, /*window=*/1 << 17);
  RawClient client(running.server.port());
  client.send(post_text("/v1/completions", R"({"prompt":"hello","ignore_eos":true,"max_tokens":400,"stream":true})"));
  std::string text = client.read_until("data: ");
  EXPECT_TRUE(running.server.drain(std::chrono::hours(1)));
  text += client.read_all();
  EXPECT_NE(text.find("data: [DONE]"), std::string::npos) << "what was begun is finished";
  EXPECT_FALSE(test::can_connect(running.server.port())) << "nobody new is served";
}

TEST(HttpServer, EndsWithoutWaiting) {
  RawClient client = [] {
    Running running({}, /*window=*/1 << 17);
    RawClient waiting(running.server.port());
    waiting.send(
        post_text("/v1/completions", R"({"prompt":"hello","ignore_eos":true,"max_tokens":100000,"stream":true})"));
    waiting.read_until("data: ");
    EXPECT_FALSE(running.server.drain(milliseconds(1)));
    return waiting;
  }();
  EXPECT_EQ(client.read_all().find("[DONE]"), std::string::npos);
}

TEST(HttpServer, AnswersNobodyElsesNameAndNoOtherSitesPages) {
  Running running;
  const auto status = [&](const std::string& headers) {
    RawClient client(running.server.port());
    client.send("GET /health HTTP/1.1\r\n" + headers + "\r\n\r\n");
    return client.read_answer().status;
  };
  EXPECT_EQ(status("Host: 127.0.0.1:8080"), 200);
  EXPECT_EQ(status("Host: LocalHost"), 200);
  EXPECT_EQ(status("Host: rebound.example"), 403);
  EXPECT_EQ(status("Host: localhost\r\nOrigin: http://localhost:3000"), 200);
  EXPECT_EQ(status("Host: localhost\r\nOrigin: https://evil.example"), 403);
  EXPECT_EQ(status("Host: localhost\r\nOrigin: null"), 403);
}

TEST(HttpServer, ListedSitesAreAnsweredAndMayReadTheAnswer) {
  Running running({}, 64, {}, {.hosts = {"model.example"}, .origins = {"https://app.example"}});
  RawClient client(running.server.port());
  client.send("GET /health HTTP/1.1\r\nHost: model.example\r\nOrigin: https://app.example\r\n\r\n");
  const test::RawAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.head.find("Access-Control-Allow-Origin: https://app.example\r\n"), std::string::npos) << answer.head;
  client.send(
      "OPTIONS /v1/completions HTTP/1.1\r\nHost: model.example\r\nOrigin: https://app.example\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  const test::RawAnswer preflight = client.read_answer();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_NE(preflight.head.find("Access-Control-Allow-Headers: Authorization, Content-Type\r\n"), std::string::npos);
}

TEST(HttpServer, APortThatIsTakenIsAnError) {
  Running running;
  const model::LanguageModel model = test::served_model();
  Api api(model, {});
  EXPECT_THROW(HttpServer(api, {.port = running.server.port()}), Error);
  EXPECT_THROW(HttpServer(api, {.host = "no.such.address.invalid", .port = 0}), Error);
}

TEST(HttpServer, ManyStreamsAreWhatEachIsAlone) {
  Running running;
  const auto ask = [&](int i) {
    RawClient client(running.server.port());
    client.send(post_text("/v1/completions", R"({"prompt":"hello the )" + std::to_string(i) +
                                                 R"(","max_tokens":30,"seed":7,"stream":true})"));
    const std::string text = client.read_answer().body;
    // Ids and times differ.
    std::string pieces;
    for (std::size_t place = text.find("\"text\":"); place != std::string::npos;
         place = text.find("\"text\":", place + 1)) {
      pieces += text.substr(place, text.find("\"logprobs\"", place) - place);
    }
    return pieces;
  };
  std::vector<std::string> alone, together(8);
  for (int i = 0; i < 8; ++i) alone.push_back(ask(i));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { together[static_cast<std::size_t>(i)] = ask(i); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

}  // namespace
}  // namespace crope::serve
