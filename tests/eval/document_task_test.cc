#include "crope/eval/document_task.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/eval/load_task.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

TEST(DocumentTask, TemplatesTakeFieldsOfTheRow) {
  const BenchmarkRow row{{{"a", "x{{b}}"}, {"b", "y"}, {"n", 3}}, "f:1"};
  EXPECT_EQ(fill_template("Q: {{a}} and {{b}}.\n", row), "Q: x{{b}} and y.\n");
  EXPECT_EQ(fill_template("", row), "");
  EXPECT_THROW(fill_template("{{n}}", row), Error);
  EXPECT_THROW(fill_template("{{absent}}", row), Error);
}

TEST(DocumentTask, LimitTakesTheFirstAndStillChecksTheRest) {
  const test::TemporaryFolder folder;
  const std::string good = R"({"question": "Q", "answer": "A #### 1"})";
  write_file(folder / "test.jsonl", good + "\n" + good + "\n" + good);
  const Task task = load_task("gsm8k", folder.path(), {.limit = 2});
  EXPECT_EQ(task.items.size(), 2u);
  EXPECT_EQ(task.document_count, 3);
  write_file(folder / "test.jsonl", good + "\n" + good + "\n" + R"({"question": "Q"})");
  EXPECT_THROW(load_task("gsm8k", folder.path(), {.limit = 2}), Error);
}

TEST(DocumentTask, ExamplesComeFromTheTrainingFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "test.jsonl", R"({"question": "How many?", "answer": "Three.\n#### 3"})");
  EXPECT_THROW(load_task("gsm8k", folder.path(), {.num_fewshot = 1}), Error);
  write_file(folder / "train.jsonl", R"({"question": "Q", "answer": "A"})");
  const Task task = load_task("gsm8k", folder.path(), {.num_fewshot = 1});
  EXPECT_EQ(task.items[0].context, "Question: Q\nAnswer: A\n\nQuestion: How many?\nAnswer:");
}

// The choice that fills the blank is a part of an example's question.
TEST(DocumentTask, ExamplesOfChoicesThatEndTheContext) {
  const test::TemporaryFolder folder;
  write_file(folder / "winogrande_dev.jsonl",
             R"({"sentence": "Ann met Bo and _ left.", "option1": "Ann", "option2": "Bo", "answer": "1"})");
  const std::string example = R"({"sentence": "A _ ran.", "option1": "cat", "option2": "dog", "answer": "2"})";
  write_file(folder / "train_xl.jsonl", example + "\n" + example);
  const Task task = load_task("winogrande", folder.path(), {.num_fewshot = 1});
  EXPECT_EQ(task.items[0].context, "A dog ran.\n\n");
  EXPECT_EQ(text_pairs(task.kind, task.items[0])[1].context, "A dog ran.\n\nAnn met Bo and Bo");
}

// lm_eval's delimiter stands before a target that begins with a space itself.
TEST(DocumentTask, ExamplesOfLastWordsComeFromTheSameFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "lambada_test.jsonl", R"({"text": "one two three"})");
  const Task task = load_task("lambada_openai", folder.path(), {.num_fewshot = 1});
  EXPECT_EQ(task.items[0].context, "one two  three\n\none two");
}

TEST(DocumentTask, RecordsTheSettingsOfLmEvalsTaskFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "test.jsonl", R"({"question": "Q", "answer": "A"})");
  const Json config = load_task("gsm8k", folder.path()).config;
  EXPECT_EQ(config["dataset_path"], "openai/gsm8k");
  EXPECT_EQ(config["dataset_name"], "main");
  EXPECT_EQ(config["test_split"], "test");
  EXPECT_EQ(config["doc_to_text"], "Question: {{question}}\nAnswer:");
  EXPECT_EQ(config["generation_kwargs"]["until"], (Json{"Question:", "</s>", "<|im_end|>"}));
}

}  // namespace
}  // namespace crope::eval
