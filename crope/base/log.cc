#include "crope/base/log.h"

#include <fmt/format.h>
#include <unistd.h>

namespace crope {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

Log::Log(std::FILE* stream) : Log(stream, stream != nullptr && ::isatty(::fileno(stream)) == 1) {}

void Log::info(std::string_view line) {
  write_line("", line);
}

void Log::warn(std::string_view line) {
  write_line("warning: ", line);
}

void Log::set_live_line(std::string_view text) {
  if (stream_ == nullptr || !is_terminal_) return;
  const std::lock_guard lock(mutex_);
  live_line_ = text;
  fmt::print(stream_, "{}{}", kClearLine, live_line_);
  std::fflush(stream_);
}

void Log::write_line(std::string_view prefix, std::string_view line) {
  if (stream_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  // One call, so that lines of several processes on one terminal do not mix.
  fmt::print(stream_, "{}{}{}\n{}", live_line_.empty() ? "" : kClearLine, prefix, line, live_line_);
  std::fflush(stream_);
}

}  // namespace crope
