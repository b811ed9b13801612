#include "crope/run/metrics_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/run/metrics.h"

namespace crope::run {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLongestLog = std::uint64_t{4} << 30;

bool belongs(std::string_view text, std::int64_t last_step) {
  const auto line = parse_metrics_line(text);
  return line && line->step <= last_step;
}

// The length of the lines of `text` up to `last_step`. Steps only grow: the first line that does not belong ends them.
std::size_t kept_bytes(std::string_view text, std::int64_t last_step) {
  std::size_t kept = 0;
  while (true) {
    const std::size_t end = text.find('\n', kept);
    if (end == std::string_view::npos || !belongs(text.substr(kept, end - kept), last_step)) return kept;
    kept = end + 1;
  }
}

}  // namespace

MetricsLog::MetricsLog(fs::path path, std::int64_t last_step) : path_(std::move(path)) {
  if (fs::is_regular_file(path_)) {
    const std::string text = read_file(path_, kLongestLog);
    const std::size_t kept = kept_bytes(text, last_step);
    if (kept < text.size()) write_file(path_, std::string_view(text).substr(0, kept));
  }
  file_.reset(std::fopen(path_.c_str(), "ae"));
  if (!file_) throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

void MetricsLog::write(const Json& line) {
  const std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0) {
    throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)),
                "make room; the run continues from its last checkpoint");
  }
}

}  // namespace crope::run
