#include "crope/serve/http_codec.h"

#include <fmt/format.h>

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <sstream>

namespace crope::serve {

namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr std::size_t kLongestTarget = 8192;

Refusal describe_parse_error(beast::error_code error, const MessageLimits& limits) {
  if (error == http::error::header_limit) {
    return {431, fmt::format("the header is too large: at most {} bytes are allowed", limits.header_bytes)};
  }
  if (error == http::error::body_limit) {
    return {413, fmt::format("the body is too large: at most {} bytes are allowed", limits.body_bytes)};
  }
  return {400, fmt::format("this is not a valid HTTP request: {}", error.message())};
}

std::optional<Refusal> check_head(const http::request_header<>& head, const AccessRules& access) {
  const auto is_absent_or = [&](http::field name, std::string_view expected) {
    return head.count(name) == 0 || (head.count(name) == 1 && beast::iequals(head[name], expected));
  };
  if (head.target().size() > kLongestTarget) return Refusal{414, "the path is too long"};
  if (head.count(http::field::host) > 1) return Refusal{400, "more than one Host header"};
  if (!is_absent_or(http::field::transfer_encoding, "chunked")) {
    return Refusal{501, "Transfer-Encoding: only \"chunked\" is supported"};
  }
  // A small compressed body could become a huge one.
  if (!is_absent_or(http::field::content_encoding, "identity")) {
    return Refusal{415, "a compressed body is not supported"};
  }
  if (!is_absent_or(http::field::expect, "100-continue")) return Refusal{417, "an unknown value of Expect"};
  const std::string_view host = head[http::field::host];
  if (!allows_host(access, host)) {
    return Refusal{403, fmt::format("this server does not answer to the name in the Host header ('{}')", host)};
  }
  if (!allows_origin(access, head[http::field::origin], host)) {
    return Refusal{403, "this server does not answer pages of the site in the Origin header"};
  }
  return std::nullopt;
}

}  // namespace

struct RequestReader::State {
  const MessageLimits& limits;
  const AccessRules& access;
  http::request_parser<http::dynamic_body> parser = {};
  std::optional<Refusal> refusal = {};
  bool is_head_checked = false;
};

RequestReader::RequestReader(const MessageLimits& limits, const AccessRules& access)
    : state_(new State{.limits = limits, .access = access}) {
  state_->parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  state_->parser.body_limit(limits.body_bytes);
  state_->parser.eager(true);
}

RequestReader::~RequestReader() = default;

RequestReader::Progress RequestReader::take(std::string& bytes) {
  State& state = *state_;
  http::request_parser<http::dynamic_body>& parser = state.parser;
  while (!bytes.empty() && !parser.is_done() && !state.refusal) {
    beast::error_code error;
    const std::size_t count = parser.put(boost::asio::buffer(bytes), error);
    bytes.erase(0, count);
    const bool needs_more = error == http::error::need_more;
    if (error && !needs_more) {
      state.refusal = describe_parse_error(error, state.limits);
    } else if (parser.is_header_done() && !std::exchange(state.is_head_checked, true)) {
      state.refusal = check_head(parser.get().base(), state.access);
    }
    // The parser does not limit the line of a chunk and the trailer.
    if (!state.refusal && needs_more && bytes.size() > state.limits.header_bytes) {
      state.refusal = describe_parse_error(http::error::header_limit, state.limits);
    }
    if (needs_more) break;
  }
  if (state.refusal) return Progress::refused;
  if (parser.is_done()) return Progress::complete;
  return parser.is_header_done() ? Progress::in_body : Progress::in_header;
}

const Refusal& RequestReader::refusal() const {
  return *state_->refusal;
}

bool RequestReader::expects_continue() const {
  return state_->parser.get().count(http::field::expect) > 0;
}

bool RequestReader::is_preflight() const {
  return state_->parser.get().method() == http::verb::options && !form().listed_origin.empty();
}

AnswerForm RequestReader::form() const {
  const auto& message = state_->parser.get();
  const std::string_view origin = message[http::field::origin];
  return {.has_chunks = message.version() >= 11,
          .has_body = message.method() != http::verb::head,
          .keeps_connection = message.keep_alive(),
          .listed_origin = std::string(is_listed_origin(state_->access, origin) ? origin : std::string_view())};
}

HttpRequest RequestReader::release() {
  const auto& message = state_->parser.get();
  HttpRequest request{.method = message.method_string(),
                      .path = {},
                      .parameters = {},
                      .authorization = message[http::field::authorization],
                      .body = beast::buffers_to_string(message.body().data())};
  set_target(request, std::string_view(message.target()));
  return request;
}

std::string response_head(const HttpResponse& response, const AnswerForm& form, std::optional<std::size_t> length) {
  http::response<http::empty_body> head;
  head.result(static_cast<unsigned>(response.status));
  head.version(form.has_chunks ? 11 : 10);
  head.set(http::field::content_type, response.type);
  head.set("X-Content-Type-Options", "nosniff");
  head.set("X-Frame-Options", "DENY");
  head.set("Referrer-Policy", "no-referrer");
  head.set("Cross-Origin-Resource-Policy", "same-origin");
  if (!form.listed_origin.empty()) {
    head.set(http::field::access_control_allow_origin, form.listed_origin);
    head.set(http::field::vary, "Origin");
  }
  for (const auto& [name, value] : response.headers) head.set(name, value);
  if (length) {
    head.content_length(*length);
  } else if (form.has_chunks) {
    head.chunked(true);
  }
  head.keep_alive(form.keeps_connection);
  std::ostringstream text;
  text << head.base();
  return std::move(text).str();
}

std::string body_piece(std::string_view bytes, const AnswerForm& form) {
  if (!form.has_chunks || bytes.empty()) return std::string(bytes);
  return beast::buffers_to_string(http::make_chunk(boost::asio::const_buffer(bytes.data(), bytes.size())));
}

std::string body_end(const AnswerForm& form) {
  return form.has_chunks ? beast::buffers_to_string(http::make_chunk_last()) : std::string();
}

}  // namespace crope::serve
