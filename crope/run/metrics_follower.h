// metrics.jsonl, read while a run is writing it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "crope/run/metrics.h"

namespace crope::run {

class MetricsFollower {
 public:
  explicit MetricsFollower(std::filesystem::path path) : path_(std::move(path)) {}

  struct News {
    bool restarted = false;          // the file is another one, or was cut: forget earlier lines
    std::vector<MetricsLine> lines;  // whole lines written since the last call, without damaged ones
  };

  // A line that is half written is read when it is whole. A missing file has no lines.
  // Throws Error if the file cannot be read.
  News read();

 private:
  std::filesystem::path path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::size_t offset_ = 0;  // end of the last whole line that was read
};

}  // namespace crope::run
