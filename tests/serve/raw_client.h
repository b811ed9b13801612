// A connection to a server on this machine, byte by byte.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace crope::test {

struct RawAnswer {
  int status = 0;    // 0: the connection ended before an answer
  std::string head;  // with the empty line
  std::string body;  // without the marks of chunks
};

class RawClient {
 public:
  // `receive_bytes`: how much the system takes before anybody reads; 0: what is usual.
  explicit RawClient(int port, int receive_bytes = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_bytes > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 120, .tv_usec = 0};  // a server that hangs fails the test
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)), ahead_(std::move(other.ahead_)) {}
  ~RawClient() {
    if (socket_ >= 0) ::close(socket_);
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  void finish_sending() { ::shutdown(socket_, SHUT_WR); }

  // Everything until the other side closes.
  std::string read_all() {
    std::string text;
    while (read_some(text)) {
    }
    return text;
  }

  // Until the text has `mark`, or the end.
  std::string read_until(std::string_view mark) {
    std::string text;
    while (text.find(mark) == std::string::npos && read_some(text)) {
    }
    return text;
  }

  // One answer, with a length or in chunks; what follows it stays for the next call.
  RawAnswer read_answer() {
    RawAnswer answer;
    std::size_t end = 0;
    while ((end = ahead_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_some(ahead_)) return answer;
    }
    answer.head = take(end + 4);
    answer.status = std::atoi(answer.head.c_str() + sizeof "HTTP/1.1");
    if (answer.status == 100 || answer.status == 204) return answer;
    const std::size_t length = answer.head.find("Content-Length: ");
    if (length != std::string::npos) {
      answer.body = take(std::strtoul(answer.head.c_str() + length + 16, nullptr, 10));
      return answer;
    }
    for (;;) {
      while ((end = ahead_.find("\r\n")) == std::string::npos) {
        if (!read_some(ahead_)) return answer;
      }
      const std::size_t size = std::strtoul(take(end + 2).c_str(), nullptr, 16);
      answer.body += take(size);
      take(2);
      if (size == 0) return answer;
    }
  }

  // Appends what has come, after waiting for something; false at the end.
  bool read_some(std::string& text) {
    char bytes[4096];
    const auto count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    text.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

 private:
  std::string take(std::size_t size) {
    while (ahead_.size() < size && read_some(ahead_)) {
    }
    const std::string taken = ahead_.substr(0, size);
    ahead_.erase(0, size);
    return taken;
  }

  int socket_;
  std::string ahead_;
};

inline bool can_connect(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const bool is_connected = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return is_connected;
}

inline std::string post_text(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace crope::test
