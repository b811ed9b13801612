#include "crope/dist/error_file.h"

#include <fmt/format.h>

#include <chrono>

#include "crope/base/json.h"

namespace crope::dist {

void write_error_file(const std::string& message, const Environment& variable) noexcept {
  try {
    const auto path = variable("TORCHELASTIC_ERROR_FILE");
    if (!path || path->empty()) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    // torchrun shows what it takes for the call stack.
    const std::string shown = fmt::format("rank {}: {}", variable("RANK").value_or("?"), message);
    write_json(*path,
               {{"message", {{"message", message}, {"extraInfo", {{"py_callstack", shown}, {"timestamp", seconds}}}}}});
  } catch (...) {
    return;
  }
}

}  // namespace crope::dist
