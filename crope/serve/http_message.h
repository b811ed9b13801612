// A request and its answer, whatever library carries them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crope::serve {

struct HttpRequest {
  std::string method;
  std::string path;                               // without the query
  std::map<std::string, std::string> parameters;  // of the query, decoded
  std::string authorization;                      // the header, "" without one
  std::string body;
  // The producer of a late answer calls it when more of the answer is ready: from any thread, at any time.
  std::function<void()> wake = [] {};
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};

  // Set for a late answer. Called after every wake and at the deadline, by one thread at a time; does not wait and does
  // not throw. A streamed answer appends what has come to the argument's body; any other fills in the whole argument
  // when it is complete. Returns whether the answer is complete. Destroying it cancels the work.
  std::function<bool(HttpResponse&)> next = {};
  bool is_stream = false;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// Sets path and parameters from a request's target, "/path?name=value&...". If a name is repeated, the first value
// counts.
void set_target(HttpRequest& request, std::string_view target);

}  // namespace crope::serve
