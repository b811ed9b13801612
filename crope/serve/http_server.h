// The server: HTTP (by cpp-httplib) in front of an Api.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "crope/serve/api.h"
#include "crope/serve/connections.h"

namespace crope::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any that is free
  ConnectionLimits connections = {};
};

// Listens from its construction on, in threads of its own.
class HttpServer {
 public:
  // The Api must outlive it. Throws Error if the address cannot be had.
  HttpServer(Api& api, const HttpOptions& options);

  // Ends at once: what is being answered is broken off.
  ~HttpServer();

  int port() const;

  // Takes no more requests and waits for those that are being answered, at most this long. Whether all were.
  bool drain(std::chrono::milliseconds time);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace crope::serve
