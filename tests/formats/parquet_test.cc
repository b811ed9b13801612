#include "crope/formats/parquet.h"

#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/memory.h"
#include "crope/base/random.h"

namespace crope::formats {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<std::optional<std::string>>;

template <typename Builder>
std::shared_ptr<arrow::Array> make_array(Builder&& builder, const Values& values) {
  for (const auto& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

class ParquetTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("parquet_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::shared_ptr<arrow::Array>& text, std::int64_t row_group = 3,
                 arrow::Compression::type compression = arrow::Compression::SNAPPY, bool keeps_types = true) {
    arrow::Int64Builder numbers;
    for (std::int64_t i = 0; i < text->length(); ++i) EXPECT_TRUE(numbers.Append(i).ok());
    const auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", text->type())});
    const auto table = arrow::Table::Make(schema, {numbers.Finish().ValueOrDie(), text});
    const fs::path path = folder_ / "rows.parquet";
    const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
    const auto properties = parquet::WriterProperties::Builder().compression(compression)->build();
    parquet::ArrowWriterProperties::Builder builder;
    const auto keep_types = keeps_types ? builder.store_schema()->build() : builder.build();
    EXPECT_TRUE(
        parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, row_group, properties, keep_types).ok());
    EXPECT_TRUE(file->Close().ok());
    return path;
  }

  fs::path folder_;
};

std::vector<std::string> read_all(const fs::path& path, std::uint64_t* nulls = nullptr) {
  ParquetColumn column = ParquetColumn::open(path, "text");
  std::vector<std::string> values;
  while (const auto value = column.next()) values.emplace_back(*value);
  EXPECT_EQ(column.rows_read(), column.rows());
  if (nulls != nullptr) *nulls = column.nulls();
  return values;
}

const Values kValues = {"one", std::nullopt, "", "f\u00fcnf", "one", std::nullopt, "seven", "eight"};
const std::vector<std::string> kExpected = {"one", "", "f\u00fcnf", "one", "seven", "eight"};

TEST_F(ParquetTest, ReadsEveryKindOfStringColumn) {
  for (const auto& array :
       {make_array(arrow::StringBuilder(), kValues), make_array(arrow::LargeStringBuilder(), kValues),
        make_array(arrow::BinaryBuilder(), kValues), make_array(arrow::StringDictionaryBuilder(), kValues)}) {
    std::uint64_t nulls = 0;
    EXPECT_EQ(read_all(write(array), &nulls), kExpected) << array->type()->ToString();
    EXPECT_EQ(nulls, 2u);
  }
}

TEST_F(ParquetTest, ReadsEveryCompressionAndManyBatches) {
  Values values;
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    const bool is_null = i % 7 == 3;
    values.push_back(is_null ? std::nullopt : std::optional(std::string(static_cast<std::size_t>(i), 'x')));
    if (!is_null) expected.push_back(*values.back());
  }
  for (const auto compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::GZIP,
                                 arrow::Compression::ZSTD}) {
    EXPECT_EQ(read_all(write(make_array(arrow::StringBuilder(), values), 700, compression)), expected);
  }
}

TEST_F(ParquetTest, AFileWithoutRowsIsEmpty) {
  EXPECT_EQ(read_all(write(make_array(arrow::StringBuilder(), {}))), std::vector<std::string>{});
}

TEST_F(ParquetTest, AWrongColumnListsThoseThereAre) {
  const fs::path path = write(make_array(arrow::StringBuilder(), kValues));
  try {
    ParquetColumn::open(path, "body");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no column 'body'; there are: id, text"), std::string::npos) << e.what();
  }
  EXPECT_THROW(ParquetColumn::open(path, "id"), Error);
  EXPECT_THROW(ParquetColumn::open(folder_ / "absent.parquet", "text"), Error);
}

TEST_F(ParquetTest, EveryTruncationIsAnError) {
  const std::string bytes = read_file(write(make_array(arrow::StringBuilder(), kValues)));
  const fs::path cut = folder_ / "cut.parquet";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    fs::remove(cut);
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, size);
    EXPECT_THROW(read_all(cut), Error) << size;
  }
}

TEST_F(ParquetTest, RandomDamageIsAnErrorOrReadable) {
  const std::string good = read_file(write(make_array(arrow::StringBuilder(), kValues)));
  const fs::path damaged = folder_ / "damaged.parquet";
  RandomStream random(3, "damage");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 2; ++i) bytes[random.below(bytes.size())] = static_cast<char>(random.bits());
    fs::remove(damaged);
    std::ofstream(damaged, std::ios::binary) << bytes;
    try {
      ParquetColumn column = ParquetColumn::open(damaged, "text");
      while (column.next()) continue;
    } catch (const Error&) {
    }
  }
}

// 256 rows of one text of 6 MB, stored once in a dictionary and compressed.
TEST_F(ParquetTest, ASmallFileOfHugeRowsIsRefusedBeforeTheyAreMade) {
  const Values values(256, std::string(6'000'000, 'x'));
  const fs::path path = write(make_array(arrow::StringDictionaryBuilder(), values), 256, arrow::Compression::ZSTD,
                              /*keeps_types=*/false);
  EXPECT_LT(fs::file_size(path), 10'000u);
  const std::uint64_t before = peak_memory();
  try {
    ParquetColumn column = ParquetColumn::open(path, "text");
    while (column.next()) continue;
    FAIL() << "1.5 GB were made";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("more than the 512 MB allowed"), std::string::npos) << e.what();
  }
  EXPECT_LT(peak_memory() - before, std::uint64_t{768} << 20) << "the allocator keeps some that it got back";
}

TEST_F(ParquetTest, LongRowsAreReadInSmallBatches) {
  Values values;
  for (int i = 0; i < 40; ++i) values.push_back(std::string(4'000'000, static_cast<char>('a' + i % 26)));
  EXPECT_EQ(read_all(write(make_array(arrow::StringBuilder(), values), 40)).size(), 40u);
}

}  // namespace
}  // namespace crope::formats
