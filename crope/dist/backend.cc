// LibTorch's headers show the backends only to those who say that they are in the library.
#define USE_C10D_GLOO
#ifdef CROPE_NCCL
#define USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "crope/base/error.h"
#include "crope/dist/backend.h"

namespace crope::dist {
namespace {

constexpr const char* kInterfaceVariable = "GLOO_SOCKET_IFNAME";

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST];
  if (::getnameinfo(address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

// The address that packets to `host` would leave from; nothing is sent. Empty if it is a loopback or not known.
std::string address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  std::string result;
  for (const addrinfo* each = found; each != nullptr && result.empty(); each = each->ai_next) {
    const int socket = ::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    auto* address = reinterpret_cast<sockaddr*>(&own);
    if (::connect(socket, each->ai_addr, each->ai_addrlen) == 0 && ::getsockname(socket, address, &length) == 0 &&
        !is_loopback(address)) {
      result = numeric(address, length);
    }
    ::close(socket);
  }
  ::freeaddrinfo(found);
  return result;
}

std::string first_outward_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::string result;
  for (const ifaddrs* each = list; each != nullptr && result.empty(); each = each->ifa_next) {
    const bool fits = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                      (each->ifa_flags & IFF_UP) != 0 && !is_loopback(each->ifa_addr);
    if (fits) result = numeric(each->ifa_addr, sizeof(sockaddr_in));
  }
  ::freeifaddrs(list);
  return result;
}

std::shared_ptr<gloo::transport::Device> choose_device(const Launch& launch) {
  using c10d::ProcessGroupGloo;
  if (const auto name = process_environment(kInterfaceVariable)) {
    return ProcessGroupGloo::createDeviceForInterface(*name);
  }
  if (launch.local_size == launch.size) return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  const std::string address = own_address(launch.address);
  return address.empty() ? ProcessGroupGloo::createDefaultDevice() : ProcessGroupGloo::createDeviceForHostname(address);
}

c10::intrusive_ptr<c10d::Store> meet(const Launch& launch, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = launch.rank == 0 && !launch.agent_has_store;
  options.waitWorkers = false;  // connecting waits for everybody, with a message of its own
  options.timeout = timeout;
  auto store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
  return c10::make_intrusive<c10d::PrefixStore>(fmt::format("crope/{}", launch.attempt), std::move(store));
}

}  // namespace

std::string own_address(const std::string& address) {
  const std::string towards = address_towards(address);
  return towards.empty() ? first_outward_address() : towards;
}

c10::intrusive_ptr<c10d::Backend> connect_backend(const Launch& launch, torch::Device device,
                                                  std::chrono::milliseconds timeout) {
  try {
    auto store = meet(launch, timeout);
    if (device.is_cpu()) {
      auto options = c10d::ProcessGroupGloo::Options::create(timeout);
      options->devices.push_back(choose_device(launch));
      return c10::make_intrusive<c10d::ProcessGroupGloo>(std::move(store), launch.rank, launch.size, options);
    }
#ifdef CROPE_NCCL
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store), launch.rank, launch.size, options);
#endif
  } catch (const std::exception& e) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&e);
    throw Error(fmt::format("rank {} of {} could not meet the others at {}:{} within {} s: {}", launch.rank,
                            launch.size, launch.address, launch.port, timeout.count() / 1000,
                            torch_error != nullptr ? torch_error->what_without_backtrace() : e.what()),
                fmt::format("are all ranks started, and does the network let them through? {} chooses an interface",
                            kInterfaceVariable));
  }
  throw UsageError(fmt::format("several ranks on the device {}: this build has no NCCL", device.str()),
                   "build with a CUDA LibTorch where nccl.h and the CUDA headers are found, or set device to cpu");
}

}  // namespace crope::dist
