#include "crope/eval/benchmark_files.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

namespace fs = std::filesystem;

class BenchmarkFiles : public testing::Test {
 protected:
  void touch(const std::string& name) {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, "x");
  }
  std::vector<std::string> found(std::string_view benchmark, Split split) {
    std::vector<std::string> names;
    for (const fs::path& path : find_benchmark_files(folder_.path(), benchmark, split)) {
      names.push_back(fs::relative(path, folder_.path()).string());
    }
    return names;
  }
  using Names = std::vector<std::string>;
  test::TemporaryFolder folder_;
};

TEST_F(BenchmarkFiles, FolderOfTheBenchmarkBeforeTheDataFolder) {
  touch("hellaswag_val.jsonl");
  EXPECT_EQ(found("hellaswag", Split::evaluation), Names{"hellaswag_val.jsonl"});
  touch("hellaswag/hellaswag_val.jsonl");
  EXPECT_EQ(found("hellaswag", Split::evaluation), Names{"hellaswag/hellaswag_val.jsonl"});
  EXPECT_TRUE(found("hellaswag", Split::examples).empty());
}

TEST_F(BenchmarkFiles, ParquetAsOnTheHub) {
  touch("hellaswag/data/validation-00001-of-00002.parquet");
  touch("hellaswag/data/validation-00000-of-00002.parquet");
  touch("hellaswag/data/test-00000-of-00001.parquet");
  EXPECT_EQ(found("hellaswag", Split::evaluation), (Names{"hellaswag/data/validation-00000-of-00002.parquet",
                                                          "hellaswag/data/validation-00001-of-00002.parquet"}));
  touch("gsm8k/main/test-00000-of-00001.parquet");
  touch("gsm8k/main/train-00000-of-00001.parquet");
  EXPECT_EQ(found("gsm8k", Split::evaluation), Names{"gsm8k/main/test-00000-of-00001.parquet"});
  EXPECT_EQ(found("gsm8k", Split::examples), Names{"gsm8k/main/train-00000-of-00001.parquet"});
}

TEST_F(BenchmarkFiles, MmluWholeOrBySubject) {
  touch("mmlu/virology/test-00000-of-00001.parquet");
  touch("mmlu/anatomy/test-00000-of-00001.parquet");
  touch("mmlu/anatomy/dev-00000-of-00001.parquet");
  EXPECT_EQ(found("mmlu", Split::evaluation),
            (Names{"mmlu/anatomy/test-00000-of-00001.parquet", "mmlu/virology/test-00000-of-00001.parquet"}));
  touch("mmlu/all/test-00000-of-00001.parquet");
  EXPECT_EQ(found("mmlu", Split::evaluation), Names{"mmlu/all/test-00000-of-00001.parquet"});
  EXPECT_EQ(found("mmlu", Split::examples), Names{"mmlu/anatomy/dev-00000-of-00001.parquet"});
}

TEST_F(BenchmarkFiles, NoneIsAnErrorThatListsTheNames) {
  try {
    require_benchmark_files(folder_.path(), "gsm8k", Split::evaluation);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find("test.jsonl"), std::string::npos) << e.hint();
  }
}

}  // namespace
}  // namespace crope::eval
