// A Parquet file opened with a bound on the memory that Arrow may take for it: a few hundred bytes can announce pages
// and rows of gigabytes. Only for files that include Arrow anyway.
#pragma once

#include <arrow/memory_pool.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <vector>

namespace crope::formats {

inline constexpr std::int64_t kMostParquetBytes = std::int64_t{512} << 20;  // of pages and a batch of rows together

// Not safe for concurrent use. What its reader gives must not outlive it.
class BoundedParquet {
 public:
  // Throws Error naming the file if it is damaged or no Parquet file.
  explicit BoundedParquet(const std::filesystem::path& path);

  parquet::arrow::FileReader& reader() { return *reader_; }

  // The rows in batches of at most some hundred, fewer where rows are long by what the file says of itself.
  std::unique_ptr<arrow::RecordBatchReader> batches(const std::vector<int>& columns);

 private:
  std::filesystem::path path_;
  arrow::ProxyMemoryPool counted_;
  arrow::CappedMemoryPool capped_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
};

// Throws Error for what Parquet reports by exceptions of its own, and for memory beyond the bound.
[[noreturn]] void throw_parquet_error(const std::filesystem::path& path, const std::exception& e);

}  // namespace crope::formats
