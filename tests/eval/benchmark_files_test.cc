#include "crope/eval/benchmark_files.h"

#include <gtest/gtest.h>

#include <tuple>

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
    for (const fs::path& path : find_benchmark_files(folder_.path(), require_task(benchmark), split)) {
      names.push_back(fs::relative(path, folder_.path()).string());
    }
    return names;
  }
  using Names = std::vector<std::string>;
  test::TemporaryFolder folder_;
};

TEST_F(BenchmarkFiles, FolderOfTheBenchmarkBeforeTheDataFolder) {
  touch("hellaswag_val.jsonl");
  EXPECT_EQ(found("hellaswag", Split::questions), Names{"hellaswag_val.jsonl"});
  touch("hellaswag/hellaswag_val.jsonl");
  EXPECT_EQ(found("hellaswag", Split::questions), Names{"hellaswag/hellaswag_val.jsonl"});
  EXPECT_THROW(found("hellaswag", Split::examples), Error);
}

TEST_F(BenchmarkFiles, ParquetAsOnTheHub) {
  touch("hellaswag/data/validation-00001-of-00002.parquet");
  touch("hellaswag/data/validation-00000-of-00002.parquet");
  touch("hellaswag/data/test-00000-of-00001.parquet");
  EXPECT_EQ(found("hellaswag", Split::questions), (Names{"hellaswag/data/validation-00000-of-00002.parquet",
                                                         "hellaswag/data/validation-00001-of-00002.parquet"}));
  touch("gsm8k/main/test-00000-of-00001.parquet");
  touch("gsm8k/main/train-00000-of-00001.parquet");
  EXPECT_EQ(found("gsm8k", Split::questions), Names{"gsm8k/main/test-00000-of-00001.parquet"});
  EXPECT_EQ(found("gsm8k", Split::examples), Names{"gsm8k/main/train-00000-of-00001.parquet"});
}

TEST_F(BenchmarkFiles, MmluWholeOrBySubject) {
  touch("mmlu/virology/test-00000-of-00001.parquet");
  touch("mmlu/anatomy/test-00000-of-00001.parquet");
  touch("mmlu/anatomy/dev-00000-of-00001.parquet");
  EXPECT_EQ(found("mmlu", Split::questions),
            (Names{"mmlu/anatomy/test-00000-of-00001.parquet", "mmlu/virology/test-00000-of-00001.parquet"}));
  touch("mmlu/all/test-00000-of-00001.parquet");
  EXPECT_EQ(found("mmlu", Split::questions), Names{"mmlu/all/test-00000-of-00001.parquet"});
  EXPECT_EQ(found("mmlu", Split::examples), Names{"mmlu/anatomy/dev-00000-of-00001.parquet"});
}

// The names under which the publishers of each data set distribute it.
TEST_F(BenchmarkFiles, OfficialNames) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"hellaswag", "hellaswag_val.jsonl", "hellaswag_train.jsonl"},
      {"arc_easy", "ARC-Easy/ARC-Easy-Test.jsonl", "ARC-Easy/ARC-Easy-Train.jsonl"},
      {"arc_challenge", "ARC-Challenge/ARC-Challenge-Test.jsonl", "ARC-Challenge/ARC-Challenge-Train.jsonl"},
      {"arc_challenge", "ARC-Challenge/test-00000-of-00001.parquet", "ARC-Challenge/train-00000-of-00001.parquet"},
      {"piqa", "piqa/valid.jsonl", "piqa/train.jsonl"},
      {"piqa", "piqa/dev.jsonl", "piqa/train.jsonl"},
      {"winogrande", "winogrande/dev.jsonl", "winogrande/train_xl.jsonl"},
      {"winogrande", "winogrande_xl/validation-00000-of-00001.parquet", "winogrande_xl/train-00000-of-00001.parquet"},
      {"openbookqa", "OpenBookQA-V1-Sep2018/Data/Main/test.jsonl", "OpenBookQA-V1-Sep2018/Data/Main/train.jsonl"},
      {"boolq", "boolq/val.jsonl", "boolq/train.jsonl"},
      {"boolq", "boolq/dev.jsonl", "boolq/train.jsonl"},
      {"lambada_openai", "lambada_test.jsonl", "lambada_test.jsonl"},
      {"lambada_openai", "data/lambada_test_en.jsonl", "data/lambada_test_en.jsonl"},
  };
  for (const auto& [task, questions, examples] : cases) {
    touch(questions);
    touch(examples);
    EXPECT_EQ(found(task, Split::questions), Names{questions});
    EXPECT_EQ(found(task, Split::examples), Names{examples});
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove_all(entry.path());
  }
}

TEST_F(BenchmarkFiles, NamesOfTheTaskBeforeNamesThatAnyTaskMayHave) {
  touch("test.jsonl");
  touch("gsm8k_test.jsonl");
  touch("ARC-Easy-Test.jsonl");
  EXPECT_EQ(found("gsm8k", Split::questions), Names{"gsm8k_test.jsonl"});
  EXPECT_EQ(found("arc_easy", Split::questions), Names{"ARC-Easy-Test.jsonl"});
  EXPECT_EQ(found("mmlu", Split::questions), Names{"test.jsonl"});
}

TEST_F(BenchmarkFiles, NoneIsAnErrorThatListsTheNames) {
  try {
    find_benchmark_files(folder_.path(), require_task("gsm8k"), Split::questions);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find("test.jsonl"), std::string::npos) << e.hint();
  }
}

}  // namespace
}  // namespace crope::eval
