// The log line of a finished request.
#pragma once

#include <cstddef>
#include <string>

namespace crope::serve {

struct AnsweredRequest {
  std::string method;          // empty where the request was refused before it could be read
  std::string path;            // without the query
  int status = 0;              // of the answer
  std::size_t bytes = 0;       // of the answer, its head included, as far as it was sent
  double seconds = 0;          // from the complete request to the last byte
  bool is_broken_off = false;  // the client went, or the answer took too long
};

// "POST /v1/completions 200, 1.2 kB in 0.530 s". Bytes of the path that are no printable ASCII are written as %XX, so
// that a client cannot forge lines; a long path is shortened.
std::string log_line(const AnsweredRequest& request);

}  // namespace crope::serve
