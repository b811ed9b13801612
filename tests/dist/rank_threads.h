// A group whose ranks are threads of this process: everything but the processes is real.
#pragma once

#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "crope/dist/process_group.h"

namespace crope::test {

inline std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  const bool worked = ::bind(socket, plain, length) == 0 && ::getsockname(socket, plain, &length) == 0;
  ::close(socket);
  if (!worked) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

using RankWork = std::function<void(const std::shared_ptr<dist::ProcessGroup>&)>;

// The message of what each rank threw; empty where it threw nothing.
inline std::vector<std::string> run_ranks(int size, const RankWork& work,
                                          std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
  const std::uint16_t port = free_port();
  std::vector<std::string> messages(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      try {
        const dist::Launch launch{.rank = rank,
                                  .size = size,
                                  .local_rank = rank,
                                  .local_size = size,
                                  .address = size == 1 ? "" : "127.0.0.1",
                                  .port = port};
        work(std::make_shared<dist::ProcessGroup>(launch, dist::GroupOptions{.timeout = timeout}));
      } catch (const std::exception& e) {
        messages[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

}  // namespace crope::test
