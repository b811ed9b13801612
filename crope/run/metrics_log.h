// metrics.jsonl, written: one object per line for every update and every validation.
#pragma once

#include <cstdint>
#include <filesystem>

#include "crope/base/file.h"
#include "crope/base/json.h"

namespace crope::run {

class MetricsLog {
 public:
  // Continues the file of an earlier process, or begins one. Drops lines of steps after `last_step` and a line that a
  // kill has cut off: the run writes them again.
  // Throws Error if the file cannot be read or written.
  MetricsLog(const std::filesystem::path& path, std::int64_t last_step);

  // The line has left the process when this returns. Throws Error on a full disk.
  void write(const Json& line);

  // The lines so far survive a power cut when this returns.
  void flush();

  // The number of updates up to `last_step` whose line was lost or damaged before this object was made.
  std::int64_t missing_steps() const { return missing_steps_; }

 private:
  std::int64_t missing_steps_;
  AppendFile file_;
};

}  // namespace crope::run
