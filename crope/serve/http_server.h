// The server: connections (by Boost.Asio) in front of an Api.
//
// One thread reads and writes all connections, however many and however slow they are. Only a complete request reaches
// a worker, which never waits: an answer that takes time comes in pieces, whenever the inference thread has more of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "crope/serve/api.h"
#include "crope/serve/http_codec.h"
#include "crope/serve/request_log.h"

namespace crope::serve {

struct HttpLimits {
  MessageLimits message = {};
  std::size_t buffered_bytes = std::size_t{128} << 20;  // of requests without an answer, over all connections
  std::size_t max_connections = 4096;
  std::chrono::milliseconds idle_time{75'000};    // without a request
  std::chrono::milliseconds header_time{10'000};  // from the first byte of a request to the end of its header
  std::chrono::milliseconds body_time{20'000};    // from there to the end of its body
  std::chrono::milliseconds stall_time{20'000};   // without progress of an answer that is being written
  std::chrono::milliseconds answer_time{60'000};  // to write a whole answer; for a stream, from its deadline on
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any that is free
  HttpLimits limits = {};
  // Checked where the address is a loopback address, or any name is listed; `host` is always accepted.
  AccessRules access = {};
  // Called on the thread of the connections after each answer; must not wait. May be empty.
  std::function<void(const AnsweredRequest&)> on_answered = {};
};

// Listens from its construction on, in threads of its own.
class HttpServer {
 public:
  // The Api must outlive it. Throws Error if it cannot listen on the address.
  HttpServer(Api& api, const HttpOptions& options);

  // Ends at once and breaks off running answers.
  ~HttpServer();

  int port() const;

  // Refuses new requests and waits for running ones, at most this long. Returns whether all were finished.
  bool drain(std::chrono::milliseconds time);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace crope::serve
