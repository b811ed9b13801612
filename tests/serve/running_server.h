// A server on a real port, with a small random model behind it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "crope/serve/http_server.h"
#include "tests/serve/raw_client.h"
#include "tests/serve/served_model.h"

namespace crope::test {

struct RunningServer {
  model::LanguageModel model;
  serve::Api api;
  serve::HttpServer server;

  explicit RunningServer(const serve::HttpLimits& limits = {}, std::int64_t window = 64, serve::ApiOptions options = {},
                         const serve::AccessRules& access = {},
                         std::function<void(const serve::AnsweredRequest&)> on_answered = {})
      : model(served_model(window)),
        api(model, std::move(options)),
        server(api, {.port = 0, .limits = limits, .access = access, .on_answered = std::move(on_answered)}) {}

  // The whole answer to bytes on a connection of their own.
  std::string answer(const std::string& bytes) const {
    RawClient client(server.port());
    client.send(bytes);
    return client.read_all();
  }

  // A good request, to see that the server lives.
  void expect_alive() const {
    RawClient client(server.port());
    client.send(post_text("/v1/completions", R"({"prompt":"hello","max_tokens":3})"));
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200) << answer.head << answer.body;
  }

  void wait_until_answered() {
    for (;;) {
      const std::string text = api.answer({.method = "GET", .path = "/metrics"}).body;
      if (text.find("crope_requests_answering 0\n") != std::string::npos &&
          text.find("crope_sequences_running 0\n") != std::string::npos) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t place = text.find(part); place != std::string::npos; place = text.find(part, place + 1)) ++count;
  return count;
}

}  // namespace crope::test
