#include "crope/eval/gsm8k.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

constexpr const char* kGsm8kRow = R"({"question": "How many?", "answer": "Three.\n#### 3"})";

TEST(Gsm8k, PromptAndTarget) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "gsm8k");
  write_file(folder / "gsm8k/test.jsonl", std::string(kGsm8kRow) + "\n" + kGsm8kRow);
  const Task task = load_gsm8k(folder.path(), {.limit = 1});
  EXPECT_EQ(task.document_count, 2);
  ASSERT_EQ(task.items.size(), 1u);
  EXPECT_EQ(task.items[0].context, "Question: How many?\nAnswer:");
  EXPECT_EQ(task.items[0].target, "Three.\n#### 3");
  EXPECT_EQ(task.stop, (std::vector<std::string>{"Question:", "</s>", "<|im_end|>"}));
  EXPECT_EQ(task.max_generated_tokens, 256);
}

TEST(Gsm8k, ExamplesComeFromTheTrainingFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "test.jsonl", kGsm8kRow);
  EXPECT_THROW(load_gsm8k(folder.path(), {.num_fewshot = 1}), Error);
  write_file(folder / "train.jsonl", R"({"question": "Q", "answer": "A"})");
  const Task task = load_gsm8k(folder.path(), {.num_fewshot = 1});
  EXPECT_EQ(task.items[0].context, "Question: Q\nAnswer: A\n\nQuestion: How many?\nAnswer:");
}

TEST(Gsm8k, MissingFields) {
  const test::TemporaryFolder folder;
  write_file(folder / "test.jsonl", R"({"question": "Q"})");
  EXPECT_THROW(load_gsm8k(folder.path(), {}), Error);
}

}  // namespace
}  // namespace crope::eval
