#include "crope/formats/parquet_rows.h"

#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

void write_table(const fs::path& path, const std::vector<std::shared_ptr<arrow::Field>>& fields,
                 const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  const auto table = arrow::Table::Make(arrow::schema(fields), columns);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, /*chunk_size=*/2).ok());
  ASSERT_TRUE(file->Close().ok());
}

std::vector<Json> read_every_row(const fs::path& path) {
  std::vector<Json> rows;
  read_parquet_rows(path, [&](Json row) { rows.push_back(std::move(row)); });
  return rows;
}

// The columns of a benchmark on the hub: a text, a list of texts, a number.
fs::path write_benchmark(const TemporaryFolder& folder) {
  arrow::StringBuilder text;
  arrow::ListBuilder list(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  auto& items = static_cast<arrow::StringBuilder&>(*list.value_builder());
  arrow::Int32Builder number;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE((i == 3 ? text.AppendNull() : text.Append("é" + std::to_string(i))).ok());
    EXPECT_TRUE(list.Append().ok());
    for (int k = 0; k < i; ++k) EXPECT_TRUE(items.Append("item " + std::to_string(k)).ok());
    EXPECT_TRUE(number.Append(i).ok());
  }
  const fs::path path = folder / "rows.parquet";
  write_table(path,
              {arrow::field("question", arrow::utf8()), arrow::field("choices", arrow::list(arrow::utf8())),
               arrow::field("answer", arrow::int32())},
              {text.Finish().ValueOrDie(), list.Finish().ValueOrDie(), number.Finish().ValueOrDie()});
  return path;
}

TEST(ParquetRows, ListsNumbersAndNulls) {
  const TemporaryFolder folder;
  const std::vector<Json> rows = read_every_row(write_benchmark(folder));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].dump(), R"({"question":"é0","choices":[],"answer":0})");
  EXPECT_EQ(rows[2].dump(), R"({"question":"é2","choices":["item 0","item 1"],"answer":2})");
  EXPECT_TRUE(rows[3]["question"].is_null());
  EXPECT_EQ(rows[4]["choices"].size(), 4u);
}

TEST(ParquetRows, DamageIsAnError) {
  const TemporaryFolder folder;
  const std::string whole = read_file(write_benchmark(folder));
  for (std::size_t length = 0; length < whole.size(); length += 13) {
    write_file(folder / "cut.parquet", whole.substr(0, length));
    EXPECT_THROW(read_every_row(folder / "cut.parquet"), Error) << length;
  }
  EXPECT_THROW(read_every_row(folder / "absent.parquet"), Error);
}

TEST(ParquetRows, TypesThatNoBenchmarkHas) {
  const TemporaryFolder folder;
  arrow::Date32Builder dates;
  ASSERT_TRUE(dates.Append(1).ok());
  write_table(folder / "x.parquet", {arrow::field("day", arrow::date32())}, {dates.Finish().ValueOrDie()});
  try {
    read_every_row(folder / "x.parquet");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'day'"), std::string::npos) << e.what();
  }
  arrow::BinaryBuilder bytes;
  ASSERT_TRUE(bytes.Append("\xff").ok());
  write_table(folder / "y.parquet", {arrow::field("b", arrow::binary())}, {bytes.Finish().ValueOrDie()});
  EXPECT_THROW(read_every_row(folder / "y.parquet"), Error);
}

}  // namespace
}  // namespace crope::formats
