#include "crope/serve/json_response.h"

#include <gtest/gtest.h>

namespace crope::serve {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

TEST(JsonResponse, CarriesTheStatus) {
  const HttpResponse response = json_response({{"a", 1}}, 201);
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.type, "application/json");
  EXPECT_EQ(response.body, R"({"a":1})");
  EXPECT_FALSE(response.next);
}

TEST(JsonResponse, RefusalsNameTheNextStep) {
  const auto headers = [](int status) { return error_response(ApiError(status, "no")).headers; };
  EXPECT_EQ(headers(401), (Headers{{"WWW-Authenticate", "Bearer"}}));
  EXPECT_EQ(headers(429), (Headers{{"Retry-After", "1"}}));
  EXPECT_EQ(headers(503), (Headers{{"Retry-After", "1"}}));
  EXPECT_EQ(headers(400), Headers{});
  EXPECT_EQ(error_response(ApiError(429, "busy")).status, 429);
}

}  // namespace
}  // namespace crope::serve
