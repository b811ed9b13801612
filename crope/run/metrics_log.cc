#include "crope/run/metrics_log.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "crope/base/file.h"
#include "crope/run/metrics.h"

namespace crope::run {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLongestLog = std::uint64_t{4} << 30;

struct Kept {
  std::size_t bytes = 0;
  std::int64_t losses = 0;  // lines of updates
};

// The lines of `text` up to `last_step`. Steps only grow: the first line that does not belong ends them.
Kept kept_lines(std::string_view text, std::int64_t last_step) {
  Kept kept;
  while (true) {
    const std::size_t end = text.find('\n', kept.bytes);
    if (end == std::string_view::npos) return kept;
    const auto line = parse_metrics_line(text.substr(kept.bytes, end - kept.bytes));
    if (!line || line->step > last_step) return kept;
    kept.bytes = end + 1;
    kept.losses += line->fields.contains("loss") ? 1 : 0;
  }
}

// Drops the lines that do not belong, and counts the updates that have none.
std::int64_t drop_later_lines(const fs::path& path, std::int64_t last_step) {
  if (!fs::is_regular_file(path)) return last_step;
  const std::string text = read_file(path, kLongestLog);
  const Kept kept = kept_lines(text, last_step);
  if (kept.bytes < text.size()) write_file(path, std::string_view(text).substr(0, kept.bytes));
  return std::max<std::int64_t>(0, last_step - kept.losses);
}

}  // namespace

MetricsLog::MetricsLog(const fs::path& path, std::int64_t last_step)
    : missing_steps_(drop_later_lines(path, last_step)), file_(path) {}

void MetricsLog::write(const Json& line) {
  file_.write(line.dump() + "\n");
}

void MetricsLog::flush() {
  file_.flush();
}

}  // namespace crope::run
