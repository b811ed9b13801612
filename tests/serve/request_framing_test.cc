#include "crope/serve/request_framing.h"

#include <gtest/gtest.h>

namespace crope::serve {
namespace {

using State = Frame::State;

const std::string kPost = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";

TEST(RequestFraming, EveryBeginningIsIncomplete) {
  for (std::size_t size = 0; size < kPost.size(); ++size) {
    const Frame frame = frame_request(std::string_view(kPost).substr(0, size), {});
    EXPECT_EQ(frame.state, State::incomplete) << size;
    EXPECT_TRUE(frame.size == 0 || frame.size == kPost.size());
  }
  const Frame whole = frame_request(kPost, {});
  EXPECT_EQ(whole.state, State::complete);
  EXPECT_EQ(whole.size, kPost.size());
  EXPECT_EQ(frame_request(kPost + kPost, {}).size, kPost.size()) << "the next request is not part of this one";
}

TEST(RequestFraming, WithoutABody) {
  const std::string get = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_EQ(frame_request(get, {}).size, get.size());
  EXPECT_EQ(frame_request(get, {}).state, State::complete);
}

TEST(RequestFraming, WhatIsReadAsItComes) {
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
  EXPECT_EQ(frame_request(chunked, {}).state, State::streamed);
  const std::string expecting = "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(frame_request(expecting, {}).state, State::streamed);
  EXPECT_EQ(frame_request(expecting + "abc", {}).state, State::complete) << "nobody waits for a word";
}

int refused_status(const std::string& headers, const FrameLimits& limits = {}) {
  const Frame frame = frame_request("POST / HTTP/1.1\r\n" + headers + "\r\n\r\n", limits);
  return frame.state == State::refused ? frame.status : 0;
}

TEST(RequestFraming, RefusesWhatCanBeReadInTwoWays) {
  EXPECT_EQ(refused_status("Content-Length: 5\r\nContent-Length: 6"), 400);
  EXPECT_EQ(refused_status("Content-Length: 0\r\nContent-Length: 0"), 0);
  EXPECT_EQ(refused_status("Content-Length: 5\r\nTransfer-Encoding: chunked"), 400);
  EXPECT_EQ(refused_status("Content-Length: five"), 400);
  EXPECT_EQ(refused_status("Content-Length: -1"), 400);
  EXPECT_EQ(refused_status("Content-Length: +1"), 400);
  EXPECT_EQ(refused_status("Content-Length: 1 1"), 400);
  EXPECT_EQ(refused_status("Content-Length:"), 400);
  EXPECT_EQ(refused_status("Content-Length: 99999999999999999999999"), 413);
  EXPECT_EQ(refused_status("Content-Length : 5"), 400);
  EXPECT_EQ(refused_status(" Content-Length: 5"), 400);
  EXPECT_EQ(refused_status("no colon"), 400);
  EXPECT_EQ(refused_status(": no name"), 400);
  EXPECT_EQ(refused_status("X: a\nContent-Length: 5"), 400);
  EXPECT_EQ(refused_status("X: a\rb"), 400);
  EXPECT_EQ(refused_status(std::string("X: a\0b", 6)), 400);
  EXPECT_EQ(refused_status("Transfer-Encoding: gzip, chunked"), 501);
  EXPECT_EQ(refused_status("Content-Encoding: gzip"), 415);
  EXPECT_EQ(refused_status("Content-Encoding: identity"), 0);
  EXPECT_EQ(refused_status("Expect: tea"), 417);
}

TEST(RequestFraming, HasLimits) {
  const FrameLimits limits{.header_bytes = 100, .body_bytes = 10};
  EXPECT_EQ(refused_status("X: " + std::string(200, 'a'), limits), 431);
  EXPECT_EQ(frame_request(std::string(99, 'a'), limits).state, State::incomplete);
  EXPECT_EQ(frame_request(std::string(100, 'a'), limits).status, 431);
  EXPECT_EQ(refused_status("Content-Length: 11", limits), 413);
  EXPECT_EQ(refused_status("Content-Length: 10", limits), 0);
}

}  // namespace
}  // namespace crope::serve
