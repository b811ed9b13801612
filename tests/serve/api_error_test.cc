#include "crope/serve/api_error.h"

#include <gtest/gtest.h>

#include <new>

namespace crope::serve {
namespace {

template <typename Exception>
ApiError described(const Exception& exception) {
  return describe_exception(std::make_exception_ptr(exception));
}

TEST(ApiError, IsOpenAisObject) {
  EXPECT_EQ(to_text(error_json(ApiError(400, "n: expected less", "n"))),
            R"({"error":{"message":"n: expected less","type":"invalid_request_error","param":"n","code":null}})");
  EXPECT_EQ(to_text(error_json(ApiError(429, "full", "", "queue_full"))),
            R"({"error":{"message":"full","type":"rate_limit_error","param":null,"code":"queue_full"}})");
  EXPECT_EQ(error_json(ApiError(401, ""))["error"]["type"], "authentication_error");
  EXPECT_EQ(error_json(ApiError(404, ""))["error"]["type"], "not_found_error");
  EXPECT_EQ(error_json(ApiError(500, ""))["error"]["type"], "server_error");
}

TEST(ApiError, OfWhateverWasThrown) {
  EXPECT_EQ(described(ApiError(413, "large")).status(), 413);
  const ApiError usage = described(UsageError("wrong", "do right"));
  EXPECT_EQ(usage.status(), 400);
  EXPECT_STREQ(usage.what(), "wrong (do right)");
  EXPECT_EQ(described(std::bad_alloc()).status(), 503);
  const ApiError internal = described(std::runtime_error("a secret"));
  EXPECT_EQ(internal.status(), 500);
  EXPECT_EQ(std::string(internal.what()).find("secret"), std::string::npos);
}

TEST(ApiError, TextIsAlwaysUtf8) {
  EXPECT_EQ(to_text(Json("a\xff"
                         "b")),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

}  // namespace
}  // namespace crope::serve
