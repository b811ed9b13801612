// A refused request: a status of HTTP and OpenAI's error object.
#pragma once

#include <string>

#include "crope/base/error.h"
#include "crope/base/json.h"

namespace crope::serve {

class ApiError : public Error {
 public:
  // `param` names the field of the request, where it is one field's fault; `code` is for programs. Both may be empty.
  ApiError(int status, const std::string& message, std::string param = {}, std::string code = {})
      : Error(message), status_(status), param_(std::move(param)), code_(std::move(code)) {}

  int status() const { return status_; }
  const std::string& param() const { return param_; }
  const std::string& code() const { return code_; }

 private:
  int status_;
  std::string param_;
  std::string code_;
};

// {"error": {"message", "type", "param", "code"}}. The type follows from the status.
Json error_json(const ApiError& error);

// The answer to an exception of a handler: UsageError and Error blame the request (400), all others the server
// (500, without details).
ApiError describe_exception(std::exception_ptr exception);

// One line of text. Bytes that are not UTF-8 become U+FFFD.
std::string to_text(const Json& json);

}  // namespace crope::serve
