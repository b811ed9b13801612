#include "crope/serve/connections.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "crope/base/error.h"

namespace crope::serve {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kHalfClosedGrace{2000};
constexpr Milliseconds kLingerTime{2000};
constexpr Milliseconds kTick{200};
constexpr std::size_t kReadSize = std::size_t{64} << 10;
constexpr std::uint32_t kReadable = EPOLLIN | EPOLLRDHUP;

constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nRetry-After: 1\r\n"
    "Content-Length: 132\r\n\r\n"
    R"({"error":{"message":"too many connections, none of them idle","type":"service_unavailable_error","param":null,)"
    R"("code":"connections"}})";
static_assert(kTooMany.size() - kTooMany.find("\r\n\r\n") - 4 == 132);

int wait_for(int socket, short events, Milliseconds time) {
  pollfd descriptor{.fd = socket, .events = events, .revents = 0};
  for (;;) {
    const int ready = ::poll(&descriptor, 1, static_cast<int>(std::max<Milliseconds::rep>(time.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

}  // namespace

Connection::~Connection() {
  ::close(socket_);
}

std::ptrdiff_t Connection::read(char* data, std::size_t size) {
  const bool is_streamed = frame_.state == Frame::State::streamed;
  const std::size_t collected = (is_streamed ? buffer_.size() : frame_.size) - read_;
  if (collected > 0) {
    const std::size_t count = std::min(size, collected);
    std::memcpy(data, buffer_.data() + read_, count);
    read_ += count;
    return static_cast<std::ptrdiff_t>(count);
  }
  if (!is_streamed || size == 0) return 0;
  for (;;) {
    const std::ptrdiff_t count = ::recv(socket_, data, size, 0);
    if (count >= 0) {
      taken_ += static_cast<std::size_t>(count);
      return taken_ > most_bytes_ ? -1 : count;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    const auto left = std::chrono::ceil<Milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0 || wait_for(socket_, POLLIN, left) <= 0) return -1;
  }
}

bool Connection::write(std::string_view bytes) {
  while (!bytes.empty() && !write_failed_ && !gone_) {
    const std::ptrdiff_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      write_failed_ = wait_for(socket_, POLLOUT, write_time_) <= 0;
    } else if (errno != EINTR) {
      write_failed_ = true;
    }
  }
  return bytes.empty();
}

bool Connection::is_gone() const {
  return gone_ || write_failed_;
}

bool Connection::is_open() const {
  if (is_gone()) return false;
  const Clock::rep since = half_closed_;
  return since == 0 || Clock::now().time_since_epoch() - Clock::duration(since) < kHalfClosedGrace;
}

Connections::Connections(const ConnectionLimits& limits, Answer answer)
    : limits_(limits), answer_(std::move(answer)), workers_(std::make_unique<WorkerPool>(limits.max_threads)) {
  poll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (poll_ < 0 || wake_ < 0) throw Error("cannot watch connections: the system has no descriptors left");
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  ::epoll_ctl(poll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::thread([this] { loop(); });
}

Connections::~Connections() {
  {
    const std::lock_guard lock(mutex_);
    drains_ = ends_ = true;
  }
  wake();
  thread_.join();
  workers_.reset();
  ::close(wake_);
  ::close(poll_);
}

void Connections::wake() {
  const std::uint64_t one = 1;
  // A full counter wakes as well.
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void Connections::listen_to(int socket) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  listening_ = socket;
  watch(socket, EPOLLIN);
}

// Whoever comes now is refused by the system.
void Connections::stop_listening() {
  const int socket = listening_.exchange(-1);
  if (socket < 0) return;
  ::epoll_ctl(poll_, EPOLL_CTL_DEL, socket, nullptr);
  ::shutdown(socket, SHUT_RDWR);
}

void Connections::drain() {
  {
    const std::lock_guard lock(mutex_);
    drains_ = true;
  }
  wake();
}

void Connections::abandon() {
  {
    const std::lock_guard lock(mutex_);
    abandons_ = drains_ = true;
  }
  wake();
}

Connections::Counts Connections::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.threads = workers_->threads();
  return counts;
}

void Connections::watch(int socket, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = socket}};
  if (::epoll_ctl(poll_, EPOLL_CTL_MOD, socket, &event) == 0 || errno != ENOENT) return;
  ::epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &event);
}

void Connections::close(int socket) {
  const auto place = entries_.find(socket);
  buffered_ -= place->second.connection->buffer_.size();
  ::epoll_ctl(poll_, EPOLL_CTL_DEL, socket, nullptr);
  entries_.erase(place);
}

bool Connections::close_an_idle_one() {
  auto oldest = entries_.end();
  for (auto place = entries_.begin(); place != entries_.end(); ++place) {
    const bool is_idle = place->second.phase == Phase::lingering ||
                         (place->second.phase == Phase::collecting && place->second.connection->buffer_.empty());
    if (!is_idle) continue;
    if (oldest == entries_.end() || place->second.connection->deadline_ < oldest->second.connection->deadline_) {
      oldest = place;
    }
  }
  if (oldest == entries_.end()) return false;
  close(oldest->first);
  return true;
}

void Connections::accept_all() {
  for (;;) {
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      adopt(socket);
    } else if (errno == EMFILE || errno == ENFILE) {
      if (close_an_idle_one()) continue;
      std::this_thread::sleep_for(Milliseconds(5));  // it waits in the system's queue
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void Connections::adopt(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  auto connection = std::make_shared<Connection>(socket);
  while (entries_.size() >= limits_.max_connections) {
    if (close_an_idle_one()) continue;
    connection->write(kTooMany);
    return;
  }
  connection->deadline_ = Clock::now() + limits_.idle_time;
  connection->write_time_ = limits_.write_time;
  entries_[socket] = {.connection = std::move(connection)};
  watch(socket, kReadable);
}

void Connections::handle_event(int socket, std::uint32_t events) {
  const auto place = entries_.find(socket);
  if (place == entries_.end()) return;
  Connection& connection = *place->second.connection;
  switch (place->second.phase) {
    case Phase::answering:
      if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        connection.gone_ = true;
      } else {
        connection.half_closed_ = Clock::now().time_since_epoch().count();
        watch(socket, EPOLLONESHOT);  // only for a connection that breaks
      }
      return;
    case Phase::lingering: {
      std::array<char, kReadSize> ignored;
      const std::ptrdiff_t count = ::recv(socket, ignored.data(), ignored.size(), 0);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) close(socket);
      return;
    }
    case Phase::collecting:
      collect(socket, place->second);
  }
}

void Connections::collect(int socket, Entry& entry) {
  Connection& connection = *entry.connection;
  std::array<char, kReadSize> bytes;
  const std::ptrdiff_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    close(socket);
    return;
  }
  if (connection.buffer_.empty()) connection.deadline_ = Clock::now() + limits_.request_time;
  connection.buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  buffered_ += static_cast<std::size_t>(count);
  consider(socket, entry);
}

// Gives a request that is complete, or cannot become so, to a thread.
void Connections::consider(int socket, Entry& entry) {
  Connection& connection = *entry.connection;
  if (buffered_ > limits_.buffered_bytes) {
    connection.frame_ = {.state = Frame::State::refused, .status = 503, .message = "too much is being sent at once"};
  } else if (connection.frame_.state == Frame::State::incomplete &&
             connection.buffer_.size() >= connection.frame_.size) {
    connection.frame_ = frame_request(connection.buffer_, limits_.frame);
  }
  if (connection.frame_.state == Frame::State::incomplete) return;
  connection.read_ = connection.taken_ = 0;
  connection.most_bytes_ = limits_.frame.body_bytes;
  entry.phase = Phase::answering;
  watch(socket, EPOLLRDHUP | EPOLLONESHOT);
  {
    const std::lock_guard lock(mutex_);
    ++counts_.answering;
  }
  try {
    workers_->run([this, socket, kept = entry.connection] {
      const bool keeps = answer_(*kept);
      {
        const std::lock_guard lock(mutex_);
        returned_.push_back({socket, keeps});
      }
      wake();
    });
  } catch (const std::exception&) {  // no thread to be had
    const std::lock_guard lock(mutex_);
    returned_.push_back({socket, false});
  }
}

void Connections::take_back(const Return& returned) {
  const auto place = entries_.find(returned.socket);
  Entry& entry = place->second;
  Connection& connection = *entry.connection;
  const bool drains = [&] {
    const std::lock_guard lock(mutex_);
    --counts_.answering;
    return drains_;
  }();
  if (connection.is_gone()) {
    close(returned.socket);
    return;
  }
  if (!returned.keeps || drains) {
    // What the other side still sends is read for a moment: closing at once would destroy the answer on its way.
    ::shutdown(returned.socket, SHUT_WR);
    entry.phase = Phase::lingering;
    connection.deadline_ = Clock::now() + kLingerTime;
    watch(returned.socket, EPOLLIN);
    return;
  }
  buffered_ -= connection.frame_.size;
  connection.buffer_.erase(0, connection.frame_.size);
  if (connection.buffer_.empty()) connection.buffer_.shrink_to_fit();
  connection.frame_ = {};
  connection.deadline_ = Clock::now() + (connection.buffer_.empty() ? limits_.idle_time : limits_.request_time);
  entry.phase = Phase::collecting;
  watch(returned.socket, kReadable);
  if (!connection.buffer_.empty()) consider(returned.socket, entry);
}

void Connections::close_expired(bool all_idle) {
  const auto now = Clock::now();
  std::vector<int> expired;
  for (const auto& [socket, entry] : entries_) {
    const bool is_idle = entry.phase == Phase::collecting && entry.connection->buffer_.empty();
    if (entry.phase != Phase::answering && (entry.connection->deadline_ <= now || (all_idle && is_idle))) {
      expired.push_back(socket);
    }
  }
  for (const int socket : expired) {
    Entry& entry = entries_.at(socket);
    // Half a request gets an answer; silence gets none.
    if (entry.phase == Phase::collecting && !entry.connection->buffer_.empty()) {
      entry.connection->frame_ = {
          .state = Frame::State::refused, .status = 408, .message = "the request took too long"};
      consider(socket, entry);
    } else {
      close(socket);
    }
  }
}

void Connections::loop() {
  std::array<epoll_event, 64> events;
  auto next_check = Clock::now();
  for (;;) {
    const int count =
        ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), static_cast<int>(kTick.count()));
    for (int i = 0; i < count; ++i) {
      const int socket = events[static_cast<std::size_t>(i)].data.fd;
      if (socket == wake_) {
        std::uint64_t ignored = 0;
        [[maybe_unused]] const auto read = ::read(wake_, &ignored, sizeof ignored);
      } else if (socket == listening_) {
        accept_all();
      } else {
        handle_event(socket, events[static_cast<std::size_t>(i)].events);
      }
    }
    std::vector<Return> returned;
    bool drains = false, abandons = false, ends = false;
    {
      const std::lock_guard lock(mutex_);
      returned.swap(returned_);
      drains = drains_;
      abandons = abandons_;
      ends = ends_;
    }
    for (const Return& each : returned) take_back(each);
    if (drains) stop_listening();
    if (Clock::now() >= next_check) {
      close_expired(drains);
      next_check = Clock::now() + kTick;
    }
    bool answers = false;
    for (auto& [socket, entry] : entries_) {
      if (entry.phase != Phase::answering) continue;
      answers = true;
      if (abandons) entry.connection->gone_ = true;
    }
    {
      const std::lock_guard lock(mutex_);
      counts_.open = entries_.size();
    }
    if (ends && !answers) break;
  }
  entries_.clear();
}

}  // namespace crope::serve
