#include "crope/serve/http_session.h"

#include <gtest/gtest.h>

#include <list>
#include <thread>

#include "tests/serve/running_server.h"

namespace crope::serve {
namespace {

using std::chrono::milliseconds;
using test::count_of;
using test::post_text;
using test::RawClient;
using Running = test::RunningServer;

constexpr const char* kClose = "Connection: close\r\n";

TEST(HttpSession, SeveralRequestsInOneWrite) {
  Running running;
  const std::string get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string text = running.answer(get + get + "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(count_of(text, "HTTP/1.1 200"), 3u) << text;
}

TEST(HttpSession, Streams) {
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

TEST(HttpSession, ChunkedAndExpectingBodies) {
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

TEST(HttpSession, BadRequestsGetAStatusAndAnErrorObject) {
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

TEST(HttpSession, RangesAndCompressionAreNotForUs) {
  Running running;
  std::string ranges = "0-1";
  while (ranges.size() < 20000) ranges += ",0-1";
  RawClient client(running.server.port());
  client.send("GET /health HTTP/1.1\r\nRange: bytes=" + ranges + "\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, R"({"status":"ok"})");
  const std::string text = running.answer(
      "GET /health HTTP/1.1\r\nRange: bytes=0-3\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200")) << text;
  EXPECT_TRUE(text.ends_with(R"({"status":"ok"})"));
}

TEST(HttpSession, AClientThatFinishedSendingIsAnswered) {
  Running running;
  RawClient client(running.server.port());
  client.send(post_text("/v1/completions", R"({"prompt":"hello","max_tokens":3})"));
  client.finish_sending();
  test::RawAnswer answer = client.read_answer();
  if (answer.status == 100) answer = client.read_answer();
  EXPECT_EQ(answer.status, 200) << answer.head;
}

// Nobody can tell from an end of sending whether the client has gone; a reset to "100 Continue" tells.
TEST(HttpSession, AClientThatFinishedSendingIsWaitedFor) {
  Running running({}, /*window=*/1 << 17, {.request_time = std::chrono::seconds(4)});
  RawClient client(running.server.port());
  client.send(post_text("/v1/completions", R"({"prompt":"hello","ignore_eos":true,"max_tokens":100000})"));
  client.finish_sending();
  EXPECT_EQ(client.read_answer().status, 100);
  EXPECT_EQ(client.read_answer().status, 504) << "when its own time is over";
}

TEST(HttpSession, ClientsThatVanishFreeTheirPlaces) {
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

// Bodies that never come get no worker, and an answer when their time is over.
TEST(HttpSession, WithheldBodies) {
  Running running({.body_time = milliseconds(300)});
  std::list<RawClient> held;
  for (int i = 0; i < 50; ++i) {
    for (const char* rest : {"Content-Length: 500\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n",
                             "Content-Length: 500\r\nExpect: 100-continue\r\n\r\n"}) {
      held.emplace_back(running.server.port());
      held.back().send("POST /v1/completions HTTP/1.1\r\n" + std::string(rest));
    }
  }
  running.expect_alive();
  for (RawClient& client : held) {
    test::RawAnswer answer = client.read_answer();
    if (answer.status == 100) answer = client.read_answer();
    EXPECT_EQ(answer.status, 408) << answer.head;
  }
  running.wait_until_answered();  // would never end if one had kept a worker
}

TEST(HttpSession, ARequestThatIsCutOffIsToldSo) {
  Running running;
  RawClient client(running.server.port());
  client.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n{");
  client.finish_sending();
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 400"));
}

TEST(HttpSession, MoreThanMayBeBufferedIsRefused) {
  Running running({.buffered_bytes = 10000});
  RawClient holder(running.server.port());
  holder.send("POST /tokenize HTTP/1.1\r\nContent-Length: 9000\r\n\r\n" + std::string(8000, ' '));
  RawClient client(running.server.port());
  client.send("POST /tokenize HTTP/1.1\r\nContent-Length: 9000\r\n\r\n" + std::string(8000, ' '));
  EXPECT_EQ(client.read_answer().status, 503);
  running.expect_alive();
}

// A client that reads nothing, and one that reads just enough never to stall.
TEST(HttpSession, SlowReadersLoseTheirConnection) {
  const std::string prompt = [] {
    std::string text;
    while (text.size() < 2'000'000) text += "a b ";
    return text;
  }();
  for (const bool drips : {false, true}) {
    HttpLimits limits;
    (drips ? limits.answer_time : limits.stall_time) = milliseconds(300);
    Running running(limits);
    RawClient client(running.server.port(), /*receive_bytes=*/4096);
    client.send(post_text("/tokenize", R"({"prompt":")" + prompt + R"("})"));
    std::string text = client.read_until("\r\n\r\n");
    const std::size_t length = std::strtoul(text.c_str() + text.find("Content-Length: ") + 16, nullptr, 10);
    ASSERT_GT(length, 4'000'000u) << text.substr(0, 200);
    while (running.api.answer({.method = "GET", .path = "/metrics"}).body.find("crope_connections_open 0\n") ==
           std::string::npos) {
      if (drips) client.read_some(text);
      std::this_thread::sleep_for(milliseconds(5));
    }
    text += client.read_all();
    EXPECT_LT(text.size(), length);
  }
}

TEST(HttpSession, DeepAndLargeDocumentsAreRefusedWhileOthersAreAnswered) {
  Running running;
  std::string keys = "{";
  for (int i = 0; i < 40000; ++i) keys += "\"" + std::to_string(i) + "\":1,";
  keys += "\"prompt\":1}";
  RawClient many(running.server.port()), deep(running.server.port());
  many.send(post_text("/v1/completions", keys));
  deep.send(post_text("/v1/completions", std::string(4 << 20, '[')));
  running.expect_alive();
  EXPECT_EQ(deep.read_answer().status, 400);
  EXPECT_EQ(many.read_answer().status, 400);
}

}  // namespace
}  // namespace crope::serve
