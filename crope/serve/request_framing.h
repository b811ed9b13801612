// Where one HTTP request ends in the bytes of a connection.
//
// Requests are collected before a thread is given to them, so that slow clients cost none. What could be read in two
// ways is refused: two programs in a row must not disagree about where a request ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crope::serve {

struct FrameLimits {
  std::size_t header_bytes = std::size_t{32} << 10;
  std::size_t body_bytes = std::size_t{8} << 20;
};

struct Frame {
  enum class State {
    incomplete,  // wait for more
    complete,    // the first `size` bytes are one request
    streamed,    // headers are there, and the rest has to be read as it comes: chunks, or after "100 Continue"
    refused,     // `status` and `message` say why
  };
  State state = State::incomplete;
  std::size_t size = 0;  // headers and body; of an incomplete one 0 until it is known
  int status = 0;
  std::string message = {};
};

Frame frame_request(std::string_view bytes, const FrameLimits& limits);

}  // namespace crope::serve
