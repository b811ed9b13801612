#include "crope/base/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace crope {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuietTime{2000};
constexpr milliseconds kTerminalInterval{100};
constexpr milliseconds kPlainInterval{5000};

}  // namespace

Progress::Progress(Log& log, ProgressOptions options)
    : log_(log), options_(std::move(options)), start_(options_.now()), next_line_(start_ + kQuietTime) {}

Progress::~Progress() {
  log_.set_live_line("");
}

void Progress::update(std::uint64_t done, const std::string& note) {
  done_ = done;
  const TimePoint now = options_.now();
  if (now < next_line_) return;
  next_line_ = now + (log_.is_terminal() ? kTerminalInterval : kPlainInterval);

  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done - options_.first) / seconds;
  std::string line = fmt::format("{}: ", options_.label);
  if (options_.total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(options_.total);
    line +=
        fmt::format("{:.1f}% of {} {}", 100 * share, format_count(static_cast<double>(options_.total)), options_.unit);
  } else {
    line += fmt::format("{} {}", format_count(static_cast<double>(done)), options_.unit);
  }
  line += fmt::format(", {}/s", format_count(rate));
  if (options_.total > done && rate > 0) {
    line += fmt::format(", {} left", format_duration(static_cast<double>(options_.total - done) / rate));
  }
  if (!note.empty()) line += fmt::format(", {}", note);

  if (log_.is_terminal()) {
    log_.set_live_line(line);
  } else {
    log_.info(line);
  }
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return "unknown time";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (days > 0) return fmt::format("{} d {} h", days, hours % 24);
  if (hours > 0) return fmt::format("{} h {:02} min", hours, minutes % 60);
  if (minutes > 0) return fmt::format("{} min {:02} s", minutes, whole % 60);
  return fmt::format("{} s", whole);
}

std::string format_count(double value) {
  constexpr std::pair<double, const char*> kScales[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [scale, suffix] : kScales) {
    if (value < scale) continue;
    const double scaled = value / scale;
    return fmt::format("{:.{}f}{}", scaled, scaled < 10 ? 2 : scaled < 100 ? 1 : 0, suffix);
  }
  return fmt::format("{:.{}f}", value, value == std::floor(value) || value >= 100 ? 0 : 1);
}

std::string format_grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > first; place -= 3) {
    digits.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return digits;
}

}  // namespace crope
