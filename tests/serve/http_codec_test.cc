#include "crope/serve/http_codec.h"

#include <gtest/gtest.h>

namespace crope::serve {
namespace {

using Progress = RequestReader::Progress;

const std::string kPost = "POST /x?a=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";

TEST(HttpCodec, ARequestInAnyPieces) {
  for (std::size_t size = 1; size < kPost.size(); ++size) {
    const MessageLimits limits;
    const AccessRules access;
    RequestReader reader(limits, access);
    std::string bytes = kPost.substr(0, size);
    const Progress progress = reader.take(bytes);
    EXPECT_TRUE(progress == Progress::in_header || progress == Progress::in_body) << size;
    bytes += kPost.substr(size) + "GET";
    ASSERT_EQ(reader.take(bytes), Progress::complete) << size;
    EXPECT_EQ(bytes, "GET") << "the next request is not part of this one";
    const HttpRequest request = reader.release();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/x");
    EXPECT_EQ(request.parameters.at("a"), "1");
    EXPECT_EQ(request.body, "hello");
  }
}

struct Taken {
  Progress progress;
  int status = 0;  // of a refusal
};

Taken take(std::string bytes, const MessageLimits& limits = {}, const AccessRules& access = {}) {
  RequestReader reader(limits, access);
  const Progress progress = reader.take(bytes);
  return {progress, progress == Progress::refused ? reader.refusal().status : 0};
}

TEST(HttpCodec, BodiesThatAreStillToCome) {
  EXPECT_EQ(take("GET / HTTP/1.1\r\n\r\n").progress, Progress::complete);
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
  EXPECT_EQ(take(chunked).progress, Progress::in_body);
  EXPECT_EQ(take(chunked + "3\r\nabc\r\n0\r\n").progress, Progress::in_body);
  EXPECT_EQ(take(chunked + "3\r\nabc\r\n0\r\n\r\n").progress, Progress::complete);
  const std::string expecting = "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
  const MessageLimits limits;
  const AccessRules access;
  RequestReader reader(limits, access);
  std::string bytes = expecting;
  EXPECT_EQ(reader.take(bytes), Progress::in_body);
  EXPECT_TRUE(reader.expects_continue());
  EXPECT_EQ(take(expecting + "abc").progress, Progress::complete) << "nobody waits for a word";
}

int refused_status(const std::string& headers, const MessageLimits& limits = {}) {
  return take("POST / HTTP/1.1\r\n" + headers + "\r\n\r\n", limits).status;
}

TEST(HttpCodec, RefusesWhatCanBeReadInTwoWays) {
  EXPECT_EQ(refused_status("Content-Length: 5\r\nContent-Length: 6"), 400);
  EXPECT_EQ(refused_status("Content-Length: 0\r\nContent-Length: 0"), 0);
  EXPECT_EQ(refused_status("Content-Length: 5\r\nTransfer-Encoding: chunked"), 400);
  EXPECT_EQ(refused_status("Transfer-Encoding: chunked\r\nContent-Length: 5"), 400);
  EXPECT_EQ(refused_status("Content-Length: five"), 400);
  EXPECT_EQ(refused_status("Content-Length: -1"), 400);
  EXPECT_EQ(refused_status("Content-Length: +1"), 400);
  EXPECT_EQ(refused_status("Content-Length: 1 1"), 400);
  EXPECT_EQ(refused_status("Content-Length:"), 400);
  EXPECT_EQ(refused_status("Content-Length: 99999999999999999999999"), 400);
  EXPECT_EQ(refused_status("Content-Length : 5"), 400);
  EXPECT_EQ(refused_status(" Content-Length: 5"), 400);
  EXPECT_EQ(refused_status("no colon"), 400);
  EXPECT_EQ(refused_status(": no name"), 400);
  EXPECT_EQ(refused_status("X: a\nContent-Length: 5"), 400);
  EXPECT_EQ(refused_status("X: a\rb"), 400);
  EXPECT_EQ(refused_status(std::string("X: a\0b", 6)), 400);
  EXPECT_EQ(refused_status("Host: a\r\nHost: b"), 400);
  EXPECT_EQ(refused_status("Transfer-Encoding: gzip, chunked"), 501);
  EXPECT_EQ(refused_status("Transfer-Encoding: gzip"), 501);
  EXPECT_EQ(refused_status("Content-Encoding: gzip"), 415);
  EXPECT_EQ(refused_status("Content-Encoding: identity"), 0);
  EXPECT_EQ(refused_status("Expect: tea"), 417);
}

TEST(HttpCodec, HasLimits) {
  const MessageLimits limits{.header_bytes = 100, .body_bytes = 10};
  EXPECT_EQ(refused_status("X: " + std::string(200, 'a'), limits), 431);
  EXPECT_EQ(take("GET /" + std::string(90, 'a'), limits).progress, Progress::in_header);
  EXPECT_EQ(take("GET /" + std::string(200, 'a'), limits).status, 431);
  EXPECT_EQ(refused_status("Content-Length: 11", limits), 413);
  EXPECT_EQ(refused_status("Content-Length: 10", limits), 0);
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(take(chunked + "b\r\nabcdefghijk\r\n", limits).status, 413);
  EXPECT_EQ(take(chunked + "6\r\nabcdef\r\n6\r\nabcdef\r\n", limits).status, 413) << "of all chunks together";
  EXPECT_EQ(take(chunked + "1;" + std::string(200, 'x'), limits).status, 431) << "a line of a chunk without end";
  EXPECT_EQ(take(chunked + "0\r\nX: " + std::string(200, 'x'), limits).status, 431) << "a trailer without end";
}

// One regular expression over such a header was enough to end a server.
TEST(HttpCodec, ALongRangeHeaderIsIgnored) {
  std::string ranges = "bytes=0-1";
  while (ranges.size() < 8000) ranges += ",0-1";
  EXPECT_EQ(take("GET / HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n").progress, Progress::complete);
}

TEST(HttpCodec, ChecksHostAndOrigin) {
  const AccessRules access{.are_checked = true, .hosts = {"model.example"}, .origins = {"https://app.example"}};
  const auto status = [&](const std::string& headers) {
    return take("GET / HTTP/1.1\r\n" + headers + "\r\n\r\n", {}, access).status;
  };
  EXPECT_EQ(status("Host: localhost:8080"), 0);
  EXPECT_EQ(status("Host: evil.example"), 403);
  EXPECT_EQ(status("Host: localhost\r\nOrigin: https://evil.example"), 403);
  EXPECT_EQ(status("Host: localhost\r\nOrigin: https://app.example"), 0);
}

TEST(HttpCodec, WritesAnswers) {
  const HttpResponse response{.status = 404, .body = "{}", .headers = {{"Retry-After", "1"}}};
  const std::string head = response_head(response, {.keeps_connection = false}, 2);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 404 Not Found\r\n")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  for (const char* line : {"Content-Length: 2\r\n", "Connection: close\r\n", "Retry-After: 1\r\n",
                           "X-Frame-Options: DENY\r\n", "X-Content-Type-Options: nosniff\r\n"}) {
    EXPECT_NE(head.find(line), std::string::npos) << line << head;
  }
  EXPECT_EQ(head.find("Access-Control"), std::string::npos);
  const std::string listed = response_head(response, {.listed_origin = "https://app.example"}, 2);
  EXPECT_NE(listed.find("Access-Control-Allow-Origin: https://app.example\r\n"), std::string::npos) << listed;
  const AnswerForm form;
  EXPECT_NE(response_head(response, form, std::nullopt).find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(body_piece("hello", form) + body_end(form), "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(body_piece("", form), "") << "an empty chunk would be the end";
  const AnswerForm old{.has_chunks = false};
  EXPECT_EQ(body_piece("hello", old) + body_end(old), "hello");
}

}  // namespace
}  // namespace crope::serve
