// A request and its answer, whatever library carries them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crope::serve {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query
  std::map<std::string, std::string> parameters;
  std::string authorization;  // the header, "" without one
  std::string body;
  std::function<bool()> is_open = [] { return true; };   // Connection::is_open
  std::function<bool()> is_gone = [] { return false; };  // Connection::is_gone
};

struct HttpResponse {
  // Writes a part of the body; false: nobody reads it any more.
  using Write = std::function<bool(std::string_view)>;

  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // In place of a body: called once, to write all of it as it comes. May throw; the connection is closed then.
  std::function<void(const Write& write)> stream = {};
};

}  // namespace crope::serve
