// Arrow's failures as ours. Only for files that include Arrow anyway.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "crope/base/error.h"
#include "crope/formats/bounded_parquet.h"

namespace crope::formats {

[[noreturn]] inline void throw_damaged_parquet(const std::filesystem::path& path, std::string_view what) {
  // Arrow appends its own source lines to some messages.
  throw Error(fmt::format("{}: {}", path.string(), what.substr(0, what.find('\n'))),
              "the file is damaged or no Parquet file: fetch or write it again");
}

inline void check_arrow(const std::filesystem::path& path, const arrow::Status& status) {
  if (status.IsOutOfMemory()) {
    throw Error(fmt::format("{}: a page or a batch of rows that needs more than the {} MB allowed", path.string(),
                            kMostParquetBytes >> 20),
                "write it again with smaller pages and shorter rows, if it can be trusted");
  }
  if (!status.ok()) throw_damaged_parquet(path, status.message());
}

template <typename T>
T take_arrow(const std::filesystem::path& path, arrow::Result<T> result) {
  check_arrow(path, result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace crope::formats
