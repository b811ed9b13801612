// HTTP messages as bytes (by Boost.Beast). Knows no sockets.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crope/serve/access_rules.h"
#include "crope/serve/http_message.h"

namespace crope::serve {

struct MessageLimits {
  std::size_t header_bytes = std::size_t{32} << 10;
  std::size_t body_bytes = std::size_t{8} << 20;
};

// Why a request is refused before a worker gets it.
struct Refusal {
  int status;
  std::string message;
};

// How the answer to a request is written.
struct AnswerForm {
  bool has_chunks = true;          // HTTP/1.1
  bool has_body = true;            // not for HEAD
  bool keeps_connection = true;    // the client wants to send another request
  std::string listed_origin = {};  // of AccessRules::origins, where the request comes from one
};

// Reads one request, with a length or in chunks. Refuses requests that two programs could read in two ways.
class RequestReader {
 public:
  // Both must outlive it.
  RequestReader(const MessageLimits& limits, const AccessRules& access);
  ~RequestReader();

  enum class Progress { in_header, in_body, complete, refused };

  // Removes the bytes of the request from the front of `bytes`, as far as they can be used.
  Progress take(std::string& bytes);

  // REQUIRES: take() returned `refused`.
  const Refusal& refusal() const;

  // Whether the client waits for "100 Continue" before it sends the body. REQUIRES: in_body.
  bool expects_continue() const;

  // Whether a browser asks if a listed origin may send a request; such a request has no other answer.
  // REQUIRES: complete.
  bool is_preflight() const;

  // REQUIRES: complete, except for the form, which is available at any time.
  HttpRequest release();
  AnswerForm form() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The status line and all headers. Without a length the body comes in chunks, or ends with the connection.
std::string response_head(const HttpResponse& response, const AnswerForm& form, std::optional<std::size_t> length);

// A piece of a body without a length; the end of such a body.
std::string body_piece(std::string_view bytes, const AnswerForm& form);
std::string body_end(const AnswerForm& form);

}  // namespace crope::serve
