// Messages to a person: notes, warnings, and one live line of progress. Results never go this way.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace crope {

// Writes lines to a stream, normally stderr. On a terminal one line at the bottom can be kept alive and is moved
// down by the lines that others write. Safe for concurrent use.
class Log {
 public:
  // A null stream makes a silent log. The stream must outlive the log.
  explicit Log(std::FILE* stream);
  Log(std::FILE* stream, bool is_terminal) : stream_(stream), is_terminal_(is_terminal) {}

  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void info(std::string_view line);

  // A line that starts with "warning: ".
  void warn(std::string_view line);

  // Replaces the live line; an empty text removes it. Nothing happens where there is no terminal.
  void set_live_line(std::string_view text);

  bool is_terminal() const { return is_terminal_; }

 private:
  void write_line(std::string_view prefix, std::string_view line);

  std::FILE* stream_;
  bool is_terminal_;
  std::mutex mutex_;
  std::string live_line_;
};

}  // namespace crope
