#include "crope/serve/request_framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace crope::serve {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

Frame refuse(int status, std::string message) {
  return {.state = Frame::State::refused, .status = status, .message = std::move(message)};
}

bool equals_ignoring_case(std::string_view x, std::string_view y) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// What the headers say about the body.
struct BodyHeaders {
  std::optional<std::size_t> length;
  bool is_chunked = false;
  bool expects_continue = false;
};

// An empty text, or why the headers cannot be used.
Frame read_headers(std::string_view lines, BodyHeaders& result) {
  while (!lines.empty()) {
    const std::size_t end = lines.find(kLineEnd);
    const std::string_view line = lines.substr(0, end);
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + kLineEnd.size());
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return refuse(400, "a header without a name");
    const std::string_view name = line.substr(0, colon), value = trim(line.substr(colon + 1));
    if (!std::all_of(name.begin(), name.end(), is_token_character)) return refuse(400, "a header with a broken name");
    // A bare CR or LF is a line end to some programs.
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return refuse(400, "a header with control characters");
    }
    if (equals_ignoring_case(name, "content-length")) {
      std::size_t length = 0;
      const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), length);
      const bool is_number = !value.empty() && error == std::errc() && rest == value.data() + value.size();
      if (error == std::errc::result_out_of_range) return refuse(413, "Content-Length is out of all bounds");
      if (!is_number) return refuse(400, "Content-Length is not a number");
      if (result.length && *result.length != length) return refuse(400, "two different values of Content-Length");
      result.length = length;
    } else if (equals_ignoring_case(name, "transfer-encoding")) {
      if (!equals_ignoring_case(value, "chunked") || result.is_chunked) {
        return refuse(501, "Transfer-Encoding: only \"chunked\" is supported");
      }
      result.is_chunked = true;
    } else if (equals_ignoring_case(name, "content-encoding")) {
      // A small body could become a huge one.
      if (!equals_ignoring_case(value, "identity")) return refuse(415, "a compressed body is not supported");
    } else if (equals_ignoring_case(name, "expect")) {
      if (!equals_ignoring_case(value, "100-continue")) return refuse(417, "an unknown value of Expect");
      result.expects_continue = true;
    }
  }
  if (result.length && result.is_chunked) return refuse(400, "both Content-Length and Transfer-Encoding");
  return {};
}

}  // namespace

Frame frame_request(std::string_view bytes, const FrameLimits& limits) {
  const std::size_t header_end = bytes.substr(0, limits.header_bytes).find(kHeaderEnd);
  if (header_end == std::string_view::npos) {
    if (bytes.size() < limits.header_bytes) return {};
    return refuse(431, fmt::format("headers of more than {} bytes", limits.header_bytes));
  }
  const std::string_view head = bytes.substr(0, header_end);
  const std::size_t first_line = head.find(kLineEnd);
  const std::string_view request_line = head.substr(0, first_line);
  if (request_line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
    return refuse(400, "a request line with control characters");
  }
  BodyHeaders body;
  if (first_line != std::string_view::npos) {
    Frame problem = read_headers(head.substr(first_line + kLineEnd.size()), body);
    if (problem.state == Frame::State::refused) return problem;
  }
  if (body.length.value_or(0) > limits.body_bytes) {
    return refuse(413, fmt::format("a body of {} bytes: at most {} are allowed", *body.length, limits.body_bytes));
  }
  const std::size_t size = header_end + kHeaderEnd.size() + body.length.value_or(0);
  if (body.is_chunked) return {.state = Frame::State::streamed, .size = header_end + kHeaderEnd.size()};
  if (bytes.size() >= size) return {.state = Frame::State::complete, .size = size};
  if (body.expects_continue) return {.state = Frame::State::streamed, .size = size};
  return {.state = Frame::State::incomplete, .size = size};
}

}  // namespace crope::serve
