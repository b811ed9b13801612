#include "crope/formats/bounded_parquet.h"

#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>

#include "crope/base/error.h"
#include "crope/formats/arrow_status.h"
#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

std::filesystem::path write_texts(const std::filesystem::path& path, int rows, std::size_t length) {
  arrow::StringBuilder texts;
  for (int i = 0; i < rows; ++i) EXPECT_TRUE(texts.Append(std::string(length, 'x') + std::to_string(i)).ok());
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("text", arrow::utf8())}), {texts.Finish().ValueOrDie()});
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, rows).ok());
  EXPECT_TRUE(file->Close().ok());
  return path;
}

std::int64_t first_batch_rows(const std::filesystem::path& path) {
  BoundedParquet file(path);
  const auto batches = file.batches({0});
  std::shared_ptr<arrow::RecordBatch> batch;
  check_arrow(path, batches->ReadNext(&batch));
  return batch->num_rows();
}

TEST(BoundedParquet, BatchesAreSmallerWhereRowsAreLong) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(first_batch_rows(write_texts(folder / "short", 1000, 10)), 256);
  const std::int64_t rows = first_batch_rows(write_texts(folder / "long", 100, 1'000'000));
  EXPECT_GE(rows, 1);
  EXPECT_LE(rows, 40) << "about 32 MB";
}

TEST(BoundedParquet, MemoryBeyondTheBoundIsAnErrorThatNamesIt) {
  const auto status = arrow::Status::OutOfMemory("cap exceeded");
  for (const bool is_thrown : {false, true}) {
    try {
      is_thrown ? throw_parquet_error("x", parquet::ParquetStatusException(status)) : check_arrow("x", status);
      FAIL();
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("more than the 512 MB allowed"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace crope::formats
