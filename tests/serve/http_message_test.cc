#include "crope/serve/http_message.h"

#include <gtest/gtest.h>

namespace crope::serve {
namespace {

using Parameters = std::map<std::string, std::string>;

HttpRequest with_target(const std::string& target) {
  HttpRequest request;
  set_target(request, target);
  return request;
}

TEST(HttpMessage, PathAndParametersOfATarget) {
  EXPECT_EQ(with_target("/a/b").path, "/a/b");
  EXPECT_EQ(with_target("/a/b").parameters, Parameters());
  EXPECT_EQ(with_target("/%2e%2e/x#y").path, "/%2e%2e/x") << "paths are compared as they come";
  const HttpRequest request = with_target("/a?after=12&b=x%20y+z&c&after=13#d");
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.parameters, (Parameters{{"after", "12"}, {"b", "x y z"}, {"c", ""}}));
}

TEST(HttpMessage, BrokenEscapesStay) {
  EXPECT_EQ(with_target("/?a=%").parameters, (Parameters{{"a", "%"}}));
  EXPECT_EQ(with_target("/?a=%4").parameters, (Parameters{{"a", "%4"}}));
  EXPECT_EQ(with_target("/?a=%zz%41").parameters, (Parameters{{"a", "%zzA"}}));
  EXPECT_EQ(with_target("/?=&&=").parameters, (Parameters{{"", ""}}));
  EXPECT_EQ(with_target("").path, "");
}

}  // namespace
}  // namespace crope::serve
