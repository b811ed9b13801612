#include "crope/serve/http_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <thread>

#include "crope/serve/api_error.h"

namespace crope::serve {
namespace {

constexpr int kBacklog = 1024;
constexpr const char* kEveryPath = "/";

// What the library reads and writes is a Connection. Nothing in it waits for more than the connection's limits.
class ConnectionStream : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !connection_.is_gone(); }
  ssize_t read(char* data, std::size_t size) override { return connection_.read(data, size); }
  ssize_t write(const char* data, std::size_t size) override {
    return connection_.write({data, size}) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  // The library only looks whether select() could take it, and it never selects.
  socket_t socket() const override { return 0; }

 private:
  Connection& connection_;
};

HttpRequest to_request(const httplib::Request& request) {
  HttpRequest result{.method = request.method,
                     .path = request.target.substr(0, request.target.find_first_of("?#")),
                     .authorization = request.get_header_value("Authorization"),
                     .body = request.body};
  for (const auto& [name, value] : request.params) result.parameters.emplace(name, value);
  return result;
}

std::string error_body(int status, const std::string& message) {
  return to_text(error_json(ApiError(status, message)));
}

std::string plain_message(int status) {
  switch (status) {
    case 400:
      return "this is not a request that HTTP knows, or its body was cut off";
    case 413:
      return "the body is too large";
    case 414:
      return "the path is too long";
    case 416:
      return "ranges are not supported";
    default:
      return "the request cannot be answered";
  }
}

// Whether the library has called a request broken for its method alone.
bool is_of_unknown_method(const httplib::Request& request) {
  static const std::set<std::string_view> kKnown = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                                    "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"};
  const bool is_word = !request.method.empty() && std::all_of(request.method.begin(), request.method.end(),
                                                              [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_word && !kKnown.contains(request.method) && request.target.starts_with('/') &&
         (request.version == "HTTP/1.1" || request.version == "HTTP/1.0");
}

void refuse(Connection& connection, const Frame& frame) {
  const std::string body = error_body(frame.status, frame.message);
  connection.write(
      fmt::format("HTTP/1.1 {} Refused\r\nContent-Type: application/json\r\nConnection: close\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  frame.status, body.size(), body));
}

}  // namespace

// Not in the namespace without a name: State has one.
class Library : public httplib::Server {
 public:
  explicit Library(Api& api) : api_(api) {
    set_tcp_nodelay(true);
    // A port that another process listens on is an error: no SO_REUSEPORT.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    const Handler handler = [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
    };
    Get(kEveryPath, handler).Post(kEveryPath, handler).Put(kEveryPath, handler).Patch(kEveryPath, handler);
    Delete(kEveryPath, handler).Options(kEveryPath, handler);
    // The library knows these methods and has no handlers for them.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (request.method != "TRACE" && request.method != "CONNECT") return HandlerResponse::Unhandled;
      answer(request, response);
      return HandlerResponse::Handled;
    });
    set_error_handler(Handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      if (is_of_unknown_method(request)) return answer(request, response);
      response.set_content(error_body(response.status, plain_message(response.status)), "application/json");
    }));
    set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
      response.status = 500;
      response.set_content(error_body(500, "the server failed to answer this request"), "application/json");
    });
  }

  ~Library() override {
    if (svr_sock_ != INVALID_SOCKET) ::close(svr_sock_);
  }

  // A socket that listens. The library's own loop is not used: it gives every connection a thread.
  int listen_on(const std::string& host, int port) {
    const bool bound = port == 0 ? (port_ = bind_to_any_port(host)) > 0 : bind_to_port(host, port_ = port);
    // The library's own backlog is five.
    if (!bound || ::listen(svr_sock_, kBacklog) != 0) {
      throw Error(fmt::format("cannot listen on {} port {}", host, port),
                  "another program may be using the port, or the address may not be one of this machine");
    }
    return svr_sock_;
  }

  int port() const { return port_; }

  // Whether the connection may be used again.
  bool serve(Connection& connection) {
    if (connection.frame().state == Frame::State::refused) {
      refuse(connection, connection.frame());
      return false;
    }
    // What was not collected before may not be read to its end.
    const bool is_streamed = connection.frame().state == Frame::State::streamed;
    ConnectionStream stream(connection);
    bool closes = false, is_understood = false;
    const bool written = process_request(stream, is_streamed, closes, [&](httplib::Request& request) {
      is_understood = true;
      // Paths are words to us and regular expressions to the library: all of them are one to it.
      request.path = kEveryPath;
      // No parts and no compression: answers are small, and proxies do both.
      request.ranges.clear();
      request.headers.erase("Range");
      request.headers.erase("Accept-Encoding");
      // The one way from here to the handler that the library has: a function meant for clients.
      request.progress = [&connection](std::uint64_t asks_for_open, std::uint64_t) {
        return asks_for_open != 0 ? connection.is_open() : connection.is_gone();
      };
    });
    return written && is_understood && !closes && !is_streamed;
  }

 private:
  void answer(const httplib::Request& request, httplib::Response& response) {
    HttpRequest http = to_request(request);
    const httplib::Progress ask =
        request.progress ? request.progress : [](std::uint64_t, std::uint64_t) { return true; };
    http.is_open = [ask] { return ask(1, 0); };
    http.is_gone = [ask] { return ask(0, 0); };
    HttpResponse result = api_.answer(http);
    response.status = result.status;
    for (const auto& [name, value] : result.headers) response.set_header(name, value);
    if (!result.stream) {
      response.set_content(result.body, result.type);
      return;
    }
    response.set_chunked_content_provider(
        result.type, [stream = std::move(result.stream)](std::size_t, httplib::DataSink& sink) {
          stream([&](std::string_view bytes) { return sink.write(bytes.data(), bytes.size()); });
          sink.done();
          return true;
        });
  }

  Api& api_;
  int port_ = 0;
};

struct HttpServer::State {
  Api& api;
  Library library;
  std::unique_ptr<Connections> connections;

  explicit State(Api& served) : api(served), library(served) {}
};

HttpServer::HttpServer(Api& api, const HttpOptions& options) : state_(std::make_unique<State>(api)) {
  State& state = *state_;
  const int socket = state.library.listen_on(options.host, options.port);
  state.connections = std::make_unique<Connections>(
      options.connections, [&state](Connection& connection) { return state.library.serve(connection); });
  api.count_connections_by([connections = state.connections.get()] { return connections->counts(); });
  state.connections->listen_to(socket);
}

HttpServer::~HttpServer() {
  state_->connections->abandon();
  state_->connections.reset();  // with everybody who may ask for their number
  state_->api.count_connections_by([] { return Connections::Counts{}; });
}

int HttpServer::port() const {
  return state_->library.port();
}

bool HttpServer::drain(std::chrono::milliseconds time) {
  state_->api.drain();
  state_->connections->drain();
  const auto end = std::chrono::steady_clock::now() + time;
  while (state_->connections->counts().answering > 0) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace crope::serve
