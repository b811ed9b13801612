#include "crope/serve/http_server.h"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/serve/http_session.h"

namespace crope::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kMostRefused = 32;  // connections that are being told that there are too many

}  // namespace

struct HttpServer::State : SessionHost {
  State(Api& served, const HttpOptions& wanted);

  void start();
  void listen();
  void accept();
  void adopt(tcp::socket socket);
  bool make_room();
  void tick();
  void stop_accepting();

  const std::string host;
  int port;
  tcp::acceptor acceptor;
  asio::steady_timer ticks;
  bool accepts = false;
  std::thread thread;
};

HttpServer::State::State(Api& served, const HttpOptions& wanted)
    : SessionHost(served, wanted), host(wanted.host), port(wanted.port), acceptor(io), ticks(io) {
  listen();
  port = acceptor.local_endpoint().port();
  const bool is_loopback = acceptor.local_endpoint().address().is_loopback();
  access.are_checked = is_loopback || !access.hosts.empty() || !access.origins.empty();
  access.hosts.push_back(host);
  postbox->io = &io;
  accept();
  tick();
}

void HttpServer::State::start() {
  thread = std::thread([this] {
    for (;;) {
      try {
        io.run();
        return;
      } catch (...) {  // of a handler that belongs to no connection: the connections go on
      }
    }
  });
}

void HttpServer::State::listen() {
  error_code error;
  tcp::resolver resolver(io);
  for (const auto& entry : resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error)) {
    error_code ignored;
    acceptor.close(ignored);
    acceptor.open(entry.endpoint().protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(entry.endpoint(), error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) return;
  }
  throw Error(fmt::format("cannot listen on {} port {}: {}", host, port, error.message()),
              "another program may be using the port, or the address may not be one of this machine");
}

void HttpServer::State::accept() {
  accepts = true;
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    accepts = false;
    if (error) return;  // no descriptors left, for instance: the next tick tries again
    accept();
    adopt(std::move(socket));
  });
}

void HttpServer::State::adopt(tcp::socket socket) {
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  const bool is_full = sessions.size() >= limits.max_connections && !make_room();
  if (is_full && sessions.size() >= limits.max_connections + kMostRefused) return;  // closes it without a word
  const auto session = std::make_shared<Session>(*this, std::move(socket));
  sessions.insert(session);
  open = sessions.size();
  if (is_full) session->refuse({503, "too many connections, all with a request"});
  session->read();
}

// Closes the longest idle connection, or, if all have begun a request, the one whose time for it is over first.
bool HttpServer::State::make_room() {
  Session* chosen = nullptr;
  for (const auto& session : sessions) {
    if (!session->is_without_request()) continue;
    const auto rank = [](const Session& each) { return std::pair(!each.is_idle(), each.deadline()); };
    if (!chosen || rank(*session) < rank(*chosen)) chosen = session.get();
  }
  if (chosen != nullptr) chosen->close();
  return chosen != nullptr;
}

void HttpServer::State::tick() {
  ticks.expires_after(kTick);
  ticks.async_wait([this](error_code error) {
    if (!error) tick();
  });
  const auto now = Clock::now();
  for (const auto& session : std::vector(sessions.begin(), sessions.end())) {  // a copy: closing removes
    drains && session->is_idle() ? session->close() : session->expire(now);
  }
  if (!accepts && !drains) accept();
}

void HttpServer::State::stop_accepting() {
  drains = true;
  error_code ignored;
  acceptor.close(ignored);
}

HttpServer::HttpServer(Api& api, const HttpOptions& options) : state_(std::make_unique<State>(api, options)) {
  api.count_connections_by([state = state_.get()] { return ConnectionCounts{state->open, state->answering}; });
  state_->start();
}

HttpServer::~HttpServer() {
  State& state = *state_;
  {
    const std::lock_guard lock(state.postbox->mutex);
    state.postbox->io = nullptr;
  }
  std::promise<void> closed;
  asio::post(state.io, [&] {
    state.stop_accepting();
    while (!state.sessions.empty()) (*state.sessions.begin())->close();
    closed.set_value();
  });
  closed.get_future().wait();
  state.workers.join();
  state.large_workers.join();
  state.api.count_connections_by([] { return ConnectionCounts{}; });
  state.io.stop();
  state.thread.join();
}

int HttpServer::port() const {
  return state_->port;
}

bool HttpServer::drain(std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  state_->api.drain();
  std::promise<void> drains;
  asio::post(state_->io, [&] {
    state_->stop_accepting();
    drains.set_value();
  });
  drains.get_future().wait();
  while (state_->answering > 0) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace crope::serve
