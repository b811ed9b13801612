// One connection of the server: reads requests, has the Api answer them on a worker, writes the answers.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "crope/serve/http_server.h"

namespace crope::serve {

class Session;

// State that all connections share. One thread runs `io`; all but the atomic members belong to it.
struct SessionHost {
  // Posts from any thread to the thread of the connections, as long as that exists.
  struct Postbox {
    std::mutex mutex;
    boost::asio::io_context* io = nullptr;
  };

  SessionHost(Api& served, const HttpOptions& wanted)
      : api(served), limits(wanted.limits), on_answered(wanted.on_answered), access(wanted.access) {}

  Api& api;
  const HttpLimits limits;
  const std::function<void(const AnsweredRequest&)> on_answered;
  AccessRules access;
  boost::asio::io_context io{1};
  const std::shared_ptr<Postbox> postbox = std::make_shared<Postbox>();
  // Parsing a large body takes long: those have a worker of their own.
  boost::asio::thread_pool workers{3}, large_workers{1};

  std::set<std::shared_ptr<Session>> sessions = {};
  std::array<char, std::size_t{64} << 10> bytes = {};  // that have just been read
  std::size_t buffered = 0;
  bool drains = false;
  std::atomic<std::size_t> open = 0, answering = 0;
};

// Everything but the calls of the Api happens on the thread of the connections.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionHost& host, boost::asio::ip::tcp::socket socket)
      : host_(host), limits_(host.limits), socket_(std::move(socket)) {
    await_request();
  }

  // Not a complete request; the second: not even a part of one.
  bool is_without_request() const { return phase_ == Phase::reading; }
  bool is_idle() const { return phase_ == Phase::reading && !reader_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }

  // Waits for bytes, also during an answer: they may belong to the next request, or the client may go.
  void read();
  void refuse(const Refusal& refusal);
  void expire(std::chrono::steady_clock::time_point now);
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { reading, answering, lingering, closed };
  using Late = std::function<bool(HttpResponse&)>;

  // A handler that fails closes its own connection and nothing else.
  template <typename Handler>
  auto guard(Handler handler) {
    return [self = shared_from_this(), handler = std::move(handler)](auto&&... arguments) mutable {
      if (self->phase_ == Phase::closed) return;
      try {
        handler(std::forward<decltype(arguments)>(arguments)...);
      } catch (...) {
        self->close();
      }
    };
  }

  // Runs work() on a worker, then then(result) here.
  template <typename Work, typename Then>
  void run(boost::asio::thread_pool& workers, Work work, Then then) {
    boost::asio::post(
        workers, [this, self = shared_from_this(), work = std::move(work), then = std::move(then)]() mutable {
          try {
            boost::asio::post(host_.io,
                              guard([then = std::move(then), result = work()]() mutable { then(std::move(result)); }));
          } catch (...) {
            boost::asio::post(host_.io, guard([this] { close(); }));
          }
        });
  }

  void await_request();
  void on_readable(boost::system::error_code error);
  void parse();
  void dispatch();
  void respond(HttpResponse response);
  void pump();
  void take_part(HttpResponse part, bool is_last);
  void send_whole(const HttpResponse& response);
  void write(std::string_view bytes);
  void write_more();
  void finish();
  void report(bool is_broken_off);
  void release_buffered();
  bool is_writing() const { return !out_.empty(); }

  SessionHost& host_;
  const HttpLimits& limits_;
  boost::asio::ip::tcp::socket socket_;
  Phase phase_ = Phase::reading;
  Clock::time_point deadline_;           // of the phase; of an answer, the Api's
  std::string pending_;                  // bytes that the reader has not taken
  std::optional<RequestReader> reader_;  // there from the first byte of a request on
  std::size_t buffered_ = 0;             // this connection's share of the server's
  bool is_head_taken_ = false;
  bool is_waiting_ = false;                         // for bytes
  std::optional<Clock::time_point> no_more_bytes_;  // since when
  bool is_probed_ = false;                          // asked whether it is there

  // State of the request that is being answered.
  AnswerForm form_;
  std::shared_ptr<Late> late_;  // shared with the worker that is calling it
  bool is_stream_ = false;
  bool is_pumping_ = false;
  bool is_woken_ = false;
  bool is_complete_ = false;    // all of it is written or in the two below
  std::string out_, next_out_;  // being written, and to be written behind it
  std::size_t written_ = 0;     // of out_
  AnsweredRequest record_;
  Clock::time_point answer_start_;
  Clock::time_point stall_end_, answer_end_;
};

}  // namespace crope::serve
