#include "crope/dist/backend.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "crope/base/error.h"
#include "tests/dist/rank_threads.h"

namespace crope::dist {
namespace {

TEST(Backend, TheOwnAddressIsNeverALoopback) {
  // Wherever one would reach the address from; without a network there is none.
  for (const char* address : {"127.0.0.1", "localhost", "192.0.2.1", "no.such.host.invalid"}) {
    const std::string own = own_address(address);
    if (own.empty()) continue;
    in_addr v4{};
    in6_addr v6{};
    ASSERT_TRUE(inet_pton(AF_INET, own.c_str(), &v4) == 1 || inet_pton(AF_INET6, own.c_str(), &v6) == 1) << own;
    EXPECT_NE(own.substr(0, 4), "127.") << address;
    EXPECT_NE(own, "::1") << address;
  }
}

TEST(Backend, ConnectsARankToItself) {
  const Launch launch{.rank = 0, .size = 1, .local_size = 1, .address = "127.0.0.1", .port = test::free_port()};
  const auto backend = connect_backend(launch, torch::kCPU, std::chrono::seconds(30));
  EXPECT_EQ(backend->getRank(), 0);
  EXPECT_EQ(backend->getSize(), 1);
  EXPECT_EQ(backend->getBackendName(), "gloo");
}

TEST(Backend, ADeviceWithoutABackendIsNamed) {
  const Launch launch{.rank = 0, .size = 1, .local_size = 1, .address = "127.0.0.1", .port = test::free_port()};
  try {
    connect_backend(launch, torch::Device(torch::kMeta), std::chrono::seconds(30));
    FAIL() << "connected";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("meta"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace crope::dist
