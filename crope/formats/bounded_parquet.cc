#include "crope/formats/bounded_parquet.h"

#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <algorithm>
#include <numeric>

#include "crope/formats/arrow_status.h"

namespace crope::formats {
namespace {

constexpr std::int64_t kMostBatchRows = 256;
constexpr std::int64_t kBatchBytes = std::int64_t{32} << 20;
constexpr std::int64_t kPageBufferBytes = std::int64_t{1} << 20;

// So many rows of these columns are about kBatchBytes, in the row group whose rows are longest.
std::int64_t batch_rows(const parquet::FileMetaData& metadata, const std::vector<int>& columns) {
  std::int64_t rows = kMostBatchRows;
  for (int group = 0; group < metadata.num_row_groups(); ++group) {
    const auto row_group = metadata.RowGroup(group);
    double bytes = 0;
    for (const int column : columns) {
      bytes += static_cast<double>(row_group->ColumnChunk(column)->total_uncompressed_size());
    }
    const double fitting = kBatchBytes * static_cast<double>(row_group->num_rows()) / std::max(bytes, 1.0);
    if (fitting < static_cast<double>(rows)) rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(fitting));
  }
  return rows;
}

}  // namespace

BoundedParquet::BoundedParquet(const std::filesystem::path& path)
    : path_(path), counted_(arrow::default_memory_pool()), capped_(&counted_, kMostParquetBytes) {
  parquet::ReaderProperties properties(&capped_);
  properties.enable_buffered_stream();
  properties.set_buffer_size(kPageBufferBytes);
  parquet::ArrowReaderProperties arrow_properties;
  arrow_properties.set_pre_buffer(false);
  arrow_properties.set_use_threads(false);
  parquet::arrow::FileReaderBuilder builder;
  check_arrow(path, builder.Open(take_arrow(path, arrow::io::ReadableFile::Open(path.string(), &capped_)), properties));
  builder.memory_pool(&capped_)->properties(arrow_properties);
  check_arrow(path, builder.Build(&reader_));
}

std::unique_ptr<arrow::RecordBatchReader> BoundedParquet::batches(const std::vector<int>& columns) {
  reader_->set_batch_size(batch_rows(*reader_->parquet_reader()->metadata(), columns));
  std::vector<int> row_groups(static_cast<std::size_t>(reader_->num_row_groups()));
  std::iota(row_groups.begin(), row_groups.end(), 0);
  return take_arrow(path_, reader_->GetRecordBatchReader(row_groups, columns));
}

void throw_parquet_error(const std::filesystem::path& path, const std::exception& e) {
  const auto* failed = dynamic_cast<const parquet::ParquetStatusException*>(&e);
  if (failed != nullptr) check_arrow(path, failed->status());
  throw_damaged_parquet(path, e.what());
}

}  // namespace crope::formats
