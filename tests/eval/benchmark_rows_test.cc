#include "crope/eval/benchmark_rows.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

namespace fs = std::filesystem;

TEST(BenchmarkRows, OneFileAfterAnotherWithTheirPlaces) {
  const test::TemporaryFolder folder;
  write_file(folder / "a.jsonl", "{\"x\": 1}\r\n\n{\"x\": 2}\n");
  write_file(folder / "b.jsonl", "{\"x\": 3}");
  const std::vector<fs::path> files = {folder / "a.jsonl", folder / "b.jsonl"};
  const auto rows = read_benchmark_rows(files);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].where, (folder / "a.jsonl").string() + ":3");
  EXPECT_EQ(rows[2].where, (folder / "b.jsonl").string() + ":1");
  EXPECT_EQ(rows[2].fields["x"], 3);
}

TEST(BenchmarkRows, FieldsAndTheirTypes) {
  const BenchmarkRow row{
      {{"s", "text"}, {"l", {"a", "b"}}, {"n", 2}, {"d", "1"}, {"b", true}, {"o", {{"text", {"x"}}}}}, "f:1"};
  EXPECT_EQ(string_field(row, "s"), "text");
  EXPECT_EQ(strings_field(row, "l"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(index_field(row, "n", 3), 2);
  EXPECT_EQ(index_field(row, "d", 3), 1);
  EXPECT_EQ(index_field(row, "d", 2, 1), 0);  // counted from 1
  EXPECT_EQ(index_field(row, "n", 2, 1), 1);
  EXPECT_EQ(index_field(row, "b", 2), 1);
  EXPECT_EQ(strings_field(object_field(row, "o"), "text"), std::vector<std::string>{"x"});
  EXPECT_THROW(index_field(row, "d", 2, 2), Error);
  EXPECT_THROW(object_field(row, "l"), Error);
  EXPECT_THROW(index_field(row, "n", 2), Error);
  EXPECT_THROW(index_field(row, "s", 2), Error);
  EXPECT_THROW(string_field(row, "n"), Error);
  EXPECT_THROW(strings_field(row, "s"), Error);
  try {
    strings_field(row, "absent");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "f:1: there is no field 'absent'; there are: s, l, n, d, b, o");
  }
}

TEST(BenchmarkRows, LabelsInAFileOfTheirOwn) {
  const test::TemporaryFolder folder;
  write_file(folder / "dev.jsonl", "{\"x\": 1}\n{\"x\": 2, \"label\": 0}\n");
  write_file(folder / "dev-labels.lst", "1\n1\n");
  const auto rows = read_benchmark_rows({folder / "dev.jsonl"});
  EXPECT_EQ(rows[0].fields["label"], 1);
  EXPECT_EQ(rows[1].fields["label"], 0) << "the row's own label counts";
  write_file(folder / "dev-labels.lst", "1\n");
  EXPECT_THROW(read_benchmark_rows({folder / "dev.jsonl"}), Error);
  write_file(folder / "dev-labels.lst", "1\n0\n1\n");
  EXPECT_THROW(read_benchmark_rows({folder / "dev.jsonl"}), Error);
}

TEST(BenchmarkRows, EmptyAndDamagedFiles) {
  const test::TemporaryFolder folder;
  for (const char* text : {"", "\n \n", "[]", "{\"a\":1}{", "nonsense", "{\"a\":1,\"a\":2}"}) {
    write_file(folder / "x.jsonl", text);
    const fs::path file = folder / "x.jsonl";
    EXPECT_THROW(read_benchmark_rows({file}), Error) << text;
  }
  write_file(folder / "x.parquet", "no Parquet");
  const fs::path file = folder / "x.parquet";
  EXPECT_THROW(read_benchmark_rows({file}), Error);
}

}  // namespace
}  // namespace crope::eval
