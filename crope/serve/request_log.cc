#include "crope/serve/request_log.h"

#include <fmt/format.h>

#include "crope/base/memory.h"

namespace crope::serve {
namespace {

constexpr std::size_t kLongestPath = 100;

std::string printable(const std::string& text) {
  std::string out;
  for (const char letter : text.substr(0, kLongestPath)) {
    if (letter > ' ' && letter <= '~' && letter != '%') {
      out += letter;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
  }
  return text.size() > kLongestPath ? out + "…" : out;
}

}  // namespace

std::string log_line(const AnsweredRequest& request) {
  const std::string what =
      request.method.empty() ? "unread request" : fmt::format("{} {}", request.method, printable(request.path));
  return fmt::format("{} {}, {} in {:.3f} s{}", what, request.status, format_bytes(static_cast<double>(request.bytes)),
                     request.seconds, request.is_broken_off ? ", broken off" : "");
}

}  // namespace crope::serve
