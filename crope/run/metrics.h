// metrics.jsonl, read: one object per update and per validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/json.h"

namespace crope::run {

struct MetricsLine {
  std::int64_t step = 0;
  Json fields;  // the whole object

  // Nothing if the field is absent; NaN if it is there but no finite number.
  std::optional<double> number(const char* field) const;

  // val_loss_<name>, by name; NaN for one that is no finite number.
  std::map<std::string, double> other_losses() const;
};

// Nothing for text that is not an object with a whole number "step" (7 or 7.0). Bare NaN and Infinity, as Python's
// json.dumps writes them, are read as null.
std::optional<MetricsLine> parse_metrics_line(std::string_view text);

struct Metrics {
  std::vector<MetricsLine> lines;   // in the order of the file
  std::uint64_t damaged = 0;        // lines that were skipped
  std::uint64_t first_damaged = 0;  // line number of the first of them

  // "skipped 2 damaged lines of metrics.jsonl, the first is line 17"; empty without any.
  std::string warning() const;
};

// Throws Error if the file cannot be read.
Metrics read_metrics(const std::filesystem::path& path);

}  // namespace crope::run
