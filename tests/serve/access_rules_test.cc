#include "crope/serve/access_rules.h"

#include <gtest/gtest.h>

namespace crope::serve {
namespace {

const AccessRules kRules{.are_checked = true, .hosts = {"Model.example"}, .origins = {"https://app.example"}};

TEST(AccessRules, HostsThatNobodyCanTakeOver) {
  for (const char* host : {"", "localhost", "LOCALHOST:8080", "a.localhost", "127.0.0.1", "127.0.0.1:80", "192.168.1.7",
                           "[::1]", "[::1]:8080", "[2001:db8::1]:1", "model.example", "model.example:99"}) {
    EXPECT_TRUE(allows_host(kRules, host)) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost",
                           "model.example.evil", "x", "[", "[]", ":80", "1.2.3", "0x7f.1"}) {
    EXPECT_FALSE(allows_host(kRules, host)) << host;
    EXPECT_TRUE(allows_host({}, host)) << "unchecked";
  }
}

TEST(AccessRules, Origins) {
  for (const char* origin : {"", "http://localhost:3000", "http://127.0.0.1:8080", "http://[::1]:8080",
                             "https://app.example", "http://model.example:8080", "http://10.0.0.5:8080"}) {
    EXPECT_TRUE(allows_origin(kRules, origin, "10.0.0.5:8080")) << origin;
  }
  for (const char* origin : {"null", "https://evil.example", "http://203.0.113.9", "http://app.example",
                             "https://app.example.evil", "https://app.example:444", "localhost", "://"}) {
    EXPECT_FALSE(allows_origin(kRules, origin, "10.0.0.5:8080")) << origin;
    EXPECT_TRUE(allows_origin({}, origin, "10.0.0.5:8080")) << "unchecked";
  }
  EXPECT_TRUE(is_listed_origin(kRules, "https://app.example"));
  EXPECT_FALSE(is_listed_origin(kRules, "http://localhost"));
  EXPECT_FALSE(is_listed_origin(kRules, ""));
}

}  // namespace
}  // namespace crope::serve
