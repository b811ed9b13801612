// Progress of anything that takes more than two seconds: how far, how fast, how much longer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "crope/base/log.h"

namespace crope {

struct ProgressOptions {
  std::string label;        // what is being done: "prepare"
  std::string unit;         // what is counted: "documents"
  std::uint64_t total = 0;  // 0 when it is not known: then neither share nor time left is shown
  std::uint64_t first = 0;  // what was done before: it counts for the share, not for the rate
  // Where time comes from; a test sets its own clock.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

// A live line ten times a second on a terminal, a plain line every five seconds elsewhere, nothing before the first
// two seconds. The destructor removes the live line. Used by one thread at a time.
class Progress {
 public:
  Progress(Log& log, ProgressOptions options);
  ~Progress();

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets how much is done. `note` is shown at the end of the line.
  void update(std::uint64_t done, const std::string& note = {});

  std::uint64_t done() const { return done_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Log& log_;
  ProgressOptions options_;
  TimePoint start_;
  TimePoint next_line_;
  std::uint64_t done_ = 0;
};

// "42 s", "3 min 05 s", "2 h 10 min", "4 d 3 h".
std::string format_duration(double seconds);

// "950", "12.3k", "4.56M", "1.20G".
std::string format_count(double value);

// "168,989,696".
std::string format_grouped(std::int64_t value);

}  // namespace crope
