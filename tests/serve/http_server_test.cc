#include "crope/serve/http_server.h"

#include <gtest/gtest.h>

#include <list>
#include <thread>

#include "crope/base/error.h"
#include "tests/serve/raw_client.h"
#include "tests/serve/served_model.h"

namespace crope::serve {
namespace {

using std::chrono::milliseconds;
using test::post_text;
using test::RawClient;

constexpr const char* kClose = "Connection: close\r\n";

struct Running {
  model::LanguageModel model;
  Api api;
  HttpServer server;

  explicit Running(const HttpLimits& limits = {}, std::int64_t window = 64, ApiOptions options = {})
      : model(test::served_model(window)), api(model, std::move(options)), server(api, {.port = 0, .limits = limits}) {}

  // The whole answer to bytes on a connection of their own.
  std::string answer(const std::string& bytes) const {
    RawClient client(server.port());
    client.send(bytes);
    return client.read_all();
  }

  std::string status_of(const std::string& bytes) const { return answer(bytes).substr(0, 12); }

  // A good request, to see that the server lives.
  void expect_alive() const {
    RawClient client(server.port());
    client.send(post_text("/v1/completions", R"({"prompt":"hello","max_tokens":3})"));
    const test::RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200) << answer.head << answer.body;
  }

  void wait_until_answered() {
    for (;;) {
      const std::string text = api.answer({.method = "GET", .path = "/metrics"}).body;
      if (text.find("crope_requests_answering 0\n") != std::string::npos &&
          text.find("crope_sequences_running 0\n") != std::string::npos) {
        return;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t place = text.find(part); place != std::string::npos; place = text.find(part, place + 1)) ++count;
  return count;
}

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

TEST(HttpServer, SeveralRequestsInOneWrite) {
  Running running;
  const std::string get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string text = running.answer(get + get + "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(count_of(text, "HTTP/1.1 200"), 3u) << text;
}

TEST(HttpServer, Streams) {
  Running running;
  const std::string body = R"({"prompt":"hello","max_tokens":5,"stream":true,"ignore_eos":true,"logprobs":1})";
  RawClient client(running.server.port());
  for (int i = 0; i < 2; ++i) {
    client.send(post_text("/v1/completions", body));
    const test::RawAnswer answer = client.read_answer();
    EXPECT_NE(answer.head.find("Content-Type: text/event-stream\r\n"), std::string::npos) << answer.head;
    EXPECT_NE(answer.head.find("X-Content-Type-Options: nosniff\r\n"), std::string::npos) << answer.head;
    EXPECT_EQ(count_of(answer.body, "data: "), 6u) << answer.body;
    EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n"));
  }
  // HTTP/1.0 has no chunks.
  const std::string old = running.answer(
      "POST /v1/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_TRUE(old.ends_with("\n\ndata: [DONE]\n\n")) << old;
}

TEST(HttpServer, ChunkedAndExpectingBodies) {
  Running running;
  RawClient client(running.server.port());
  client.send("POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"prom\r\n");
  client.send("8\r\npt\":\"a\"}\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  client.send("POST /tokenize HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n");
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 100"));
  client.send(R"({"prompt":"a"})");
  EXPECT_EQ(client.read_answer().status, 200) << "on the same connection";
}

TEST(HttpServer, BadRequestsGetAStatusAndAnErrorObject) {
  const HttpLimits limits{
      .message = {.body_bytes = 1000}, .header_time = milliseconds(300), .body_time = milliseconds(300)};
  Running running(limits);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\r\n\r\n", "400"},
      {"nonsense\r\n\r\n", "400"},
      {"FROB / HTTP/1.1\r\nConnection: close\r\n\r\n", "405"},
      {"GET / HTTP/9.9\r\n\r\n", "400"},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", "414"},
      {"GET / HTTP/1.1\r\nX: " + std::string(40000, 'a') + "\r\n\r\n", "431"},
      {"GET / HTTP/1.1\r\nX: " + std::string(40000, 'a'), "431"},
      {"GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n", "404"},
      {"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nConnection: close\r\n\r\n", "404"},
      {"DELETE /v1/completions HTTP/1.1\r\nConnection: close\r\n\r\n", "405"},
      {"TRACE /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", "405"},
      {"QUERY /health HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", "405"},
      {"QUERY /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n", "404"},
      {"QUERY /health HTTP/9\r\nConnection: close\r\n\r\n", "400"},
      {"CONNECT /health HTTP/1.1\r\nConnection: close\r\n\r\n", "405"},
      {"PUT /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", "405"},
      {post_text("/v1/completions", "", kClose), "400"},
      {post_text("/v1/completions", "{", kClose), "400"},
      {post_text("/v1/completions", "{\"prompt\":\"\xff\"}", kClose), "400"},
      {post_text("/v1/completions", std::string(900, '['), kClose), "400"},
      {post_text("/v1/completions", R"({"prompt":[-1]})", kClose), "400"},
      {post_text("/v1/completions", std::string(1001, ' '), kClose), "413"},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "413"},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"},
      {post_text("/v1/completions", "{}", "Content-Encoding: gzip\r\n"), "415"},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{\"prompt\"", "408"},
      {"POST /v1/comple", "408"},
      {"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "408"},
      {"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nab", "413"},
      {"POST /v1/completions HTTP/1.1\r\nContent-Type: multipart/form-data\r\nConnection: close\r\nContent-Length: "
       "2\r\n\r\n{}",
       "400"},
  };
  for (const auto& [bytes, status] : cases) {
    const std::string answer = running.answer(bytes);
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 " + status) << bytes.substr(0, 100) << "\n" << answer;
    EXPECT_NE(answer.find(R"({"error":{"message":)"), std::string::npos) << bytes.substr(0, 100) << "\n" << answer;
  }
  running.expect_alive();
}

TEST(HttpServer, RangesAndCompressionAreNotForUs) {
  Running running;
  const std::string text = running.answer(
      "GET /health HTTP/1.1\r\nRange: bytes=0-3\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200")) << text;
  EXPECT_TRUE(text.ends_with(R"({"status":"ok"})"));
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

TEST(HttpServer, AClientThatFinishedSendingIsAnswered) {
  Running running;
  RawClient client(running.server.port());
  client.send(post_text("/v1/completions", R"({"prompt":"hello","max_tokens":3})"));
  client.finish_sending();
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, ClientsThatVanishFreeTheirPlaces) {
  Running running({}, /*window=*/1 << 17, {.inference = {.max_sequences = 2}});
  for (const char* stream : {"true", "false"}) {
    std::list<RawClient> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back(running.server.port());
      clients.back().send(post_text(
          "/v1/completions",
          R"({"prompt":"hello","ignore_eos":true,"max_tokens":100000,"stream":)" + std::string(stream) + "}"));
    }
    if (std::string(stream) == "true") clients.front().read_until("data: ");
    clients.clear();
    running.wait_until_answered();
  }
  running.expect_alive();
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
