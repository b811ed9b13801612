#include "crope/serve/request_log.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "tests/serve/running_server.h"

namespace crope::serve {
namespace {

TEST(RequestLog, OneLinePerRequest) {
  const std::string line =
      log_line({.method = "POST", .path = "/v1/completions", .status = 200, .bytes = 1200, .seconds = 0.53});
  EXPECT_TRUE(line.starts_with("POST /v1/completions 200, 1.2")) << line;
  EXPECT_TRUE(line.ends_with(" in 0.530 s")) << line;
  EXPECT_TRUE(log_line({.status = 400}).starts_with("unread request 400, 0")) << log_line({.status = 400});
  EXPECT_TRUE(log_line({.status = 200, .is_broken_off = true}).ends_with(", broken off"));
}

TEST(RequestLog, AClientCannotForgeLines) {
  const std::string line = log_line({.method = "GET", .path = "/a\nGET /b 200\x1b[2J%41", .status = 404});
  EXPECT_TRUE(line.starts_with("GET /a%0AGET%20/b%20200%1B[2J%2541 404,")) << line;
  EXPECT_LT(log_line({.method = "GET", .path = std::string(10'000, 'a'), .status = 404}).size(), 200u);
}

TEST(RequestLog, TheServerReportsAnsweredRefusedAndBrokenOffRequests) {
  std::mutex mutex;
  std::vector<AnsweredRequest> seen;
  {
    const auto remember = [&](const AnsweredRequest& request) {
      const std::lock_guard lock(mutex);
      seen.push_back(request);
    };
    const HttpLimits limits{.header_time = std::chrono::milliseconds(200)};
    test::RunningServer running(limits, /*window=*/64, {}, {}, remember);
    running.answer("GET /health?key=secret HTTP/1.1\r\nConnection: close\r\n\r\n");
    running.answer("GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n");
    running.answer("GET /heal");
  }
  const std::lock_guard lock(mutex);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].method + " " + seen[0].path, "GET /health");
  EXPECT_EQ(seen[0].status, 200);
  EXPECT_GT(seen[0].bytes, 50u);
  EXPECT_EQ(seen[1].status, 404);
  EXPECT_EQ(seen[2].method, "");
  EXPECT_EQ(seen[2].status, 408);
}

}  // namespace
}  // namespace crope::serve
