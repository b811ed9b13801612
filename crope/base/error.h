// The one exception type of the project.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace crope {

// Something the environment or the user caused: a bad file, flag or request.
// The message names the thing, what was expected and what was found. The hint gives the next step; it may be empty.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}

  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// The caller gave an invalid value: exit status 2 on the command line, 400 over HTTP.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace crope
