// metrics.jsonl, written: one object per line for every update and every validation.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "crope/base/json.h"

namespace crope::run {

class MetricsLog {
 public:
  // Continues the file of an earlier process, or begins one. Drops lines of steps after `last_step` and a line that a
  // kill has cut off: the run writes them again.
  // Throws Error if the file cannot be read or written.
  MetricsLog(std::filesystem::path path, std::int64_t last_step);

  // The line has left the process when this returns. Throws Error on a full disk.
  void write(const Json& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace crope::run
