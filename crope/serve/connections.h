// Open connections, and the threads that answer them.
//
// One thread watches all connections that have no complete request yet, however many and however slow they are. A
// complete one is given to a thread of its own until it is answered, and its connection comes back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "crope/serve/request_framing.h"
#include "crope/serve/worker_pool.h"

namespace crope::serve {

struct ConnectionLimits {
  FrameLimits frame = {};
  std::size_t max_connections = 4096;
  std::size_t max_threads = 640;
  std::size_t buffered_bytes = std::size_t{128} << 20;  // of incomplete requests, over all connections
  std::chrono::milliseconds idle_time{75'000};          // without a request
  std::chrono::milliseconds request_time{20'000};       // from the first byte of a request to its last
  std::chrono::milliseconds write_time{20'000};         // without progress
};

// One connection while a request of it is being answered.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const Frame& frame() const { return frame_; }

  // Bytes of the request; beyond what was collected, those that come until the request's time is over. 0 at the end of
  // the request or of the connection, below 0 on a failure, and after more bytes than a request may have.
  std::ptrdiff_t read(char* data, std::size_t size);

  // Whether all of it was written.
  bool write(std::string_view bytes);

  // The other side has broken the connection, or did not take what was written.
  bool is_gone() const;

  // The same for one that is not being written to: the other side may have finished sending, or may have closed the
  // connection; nobody can tell until something is written. It is believed to be there for two seconds.
  bool is_open() const;

  int socket() const { return socket_; }

 private:
  friend class Connections;
  using Clock = std::chrono::steady_clock;

  const int socket_;
  std::string buffer_;
  Frame frame_;
  std::size_t read_ = 0;   // bytes of buffer_ that the request has taken
  std::size_t taken_ = 0;  // bytes of this request that were read from the socket
  std::size_t most_bytes_ = 0;
  Clock::time_point deadline_;  // of the request, or of the connection without one
  std::chrono::milliseconds write_time_{0};
  bool write_failed_ = false;
  std::atomic<bool> gone_ = false;
  std::atomic<Clock::rep> half_closed_ = 0;  // when; 0: it is not
};

class Connections {
 public:
  // Answers one request; returns whether the connection may be used for another. Must not throw.
  using Answer = std::function<bool(Connection&)>;

  Connections(const ConnectionLimits& limits, Answer answer);

  // Closes what is idle and waits for what is being answered.
  ~Connections();

  // Accepts what comes to a socket that listens. It stays the caller's, and has to outlive this.
  void listen_to(int socket);

  // No new connections; those without a request are closed, the others after their answer.
  void drain();

  // The same, and whoever is being answered counts as gone.
  void abandon();

  struct Counts {
    std::size_t open = 0;
    std::size_t answering = 0;  // requests
    std::size_t threads = 0;
  };
  Counts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { collecting, answering, lingering };
  struct Entry {
    std::shared_ptr<Connection> connection;
    Phase phase = Phase::collecting;
  };
  struct Return {
    int socket;
    bool keeps;
  };

  void loop();
  void wake();
  void handle_event(int socket, std::uint32_t events);
  void collect(int socket, Entry& entry);
  void consider(int socket, Entry& entry);
  void take_back(const Return& returned);
  void accept_all();
  void adopt(int socket);
  void stop_listening();
  void watch(int socket, std::uint32_t events);
  void close(int socket);
  void close_expired(bool all_idle);
  bool close_an_idle_one();

  const ConnectionLimits limits_;
  const Answer answer_;
  int poll_ = -1;
  int wake_ = -1;
  std::atomic<int> listening_ = -1;

  std::map<int, Entry> entries_;  // by socket; of the watching thread
  std::size_t buffered_ = 0;      // bytes, of the watching thread

  mutable std::mutex mutex_;
  std::vector<Return> returned_;
  Counts counts_;
  bool drains_ = false;
  bool abandons_ = false;
  bool ends_ = false;

  std::unique_ptr<WorkerPool> workers_;
  std::thread thread_;
};

}  // namespace crope::serve
