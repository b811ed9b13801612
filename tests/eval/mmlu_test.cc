#include "crope/eval/mmlu.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/eval/load_task.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

std::string row(const std::string& subject, const std::string& question, int answer) {
  return R"({"subject": ")" + subject + R"(", "question": ")" + question +
         R"(", "choices": ["one", "two ", "three", "four"], "answer": )" + std::to_string(answer) + "}\n";
}

TEST(Mmlu, FiftySevenSubjectsInFourGroups) {
  EXPECT_EQ(mmlu_subjects("mmlu").size(), 57u);
  EXPECT_EQ(mmlu_subjects("mmlu_stem").size(), 19u);
  EXPECT_EQ(mmlu_subjects("mmlu_other").size(), 13u);
  EXPECT_EQ(mmlu_subjects("mmlu_social_sciences").size(), 12u);
  EXPECT_EQ(mmlu_subjects("mmlu_humanities").size(), 13u);
  EXPECT_EQ(mmlu_subjects("mmlu_anatomy"), std::vector<std::string>{"anatomy"});
  EXPECT_TRUE(mmlu_subjects("hellaswag").empty());
  EXPECT_EQ(mmlu_family().size(), 61u);
}

TEST(Mmlu, DescriptionStandsBeforeEveryQuestion) {
  const test::TemporaryFolder folder;
  write_file(folder / "mmlu_test.jsonl", row("college_biology", " What? ", 2) + row("anatomy", "Where?", 0));
  const auto tasks = load_family("mmlu", folder.path());
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].name, "mmlu_anatomy");
  EXPECT_EQ(tasks[1].items[0].context,
            "The following are multiple choice questions (with answers) about college biology.\n\n"
            "What?\nA. one\nB. two \nC. three\nD. four\nAnswer:");
  EXPECT_EQ(tasks[1].items[0].choices, (std::vector<std::string>{"A", "B", "C", "D"}));
  EXPECT_EQ(tasks[1].items[0].gold, 2);
}

TEST(Mmlu, ExamplesAreTheFirstOfTheSubject) {
  const test::TemporaryFolder folder;
  write_file(folder / "mmlu_test.jsonl", row("anatomy", "Where?", 0));
  write_file(folder / "mmlu_dev.jsonl", row("virology", "no", 0) + row("anatomy", "Q1", 1) + row("anatomy", "Q2", 3));
  const auto tasks = load_family("mmlu_anatomy", folder.path(), {.num_fewshot = 2});
  EXPECT_EQ(tasks[0].items[0].context,
            "The following are multiple choice questions (with answers) about anatomy.\n\n"
            "Q1\nA. one\nB. two \nC. three\nD. four\nAnswer: B\n\n"
            "Q2\nA. one\nB. two \nC. three\nD. four\nAnswer: D\n\n"
            "Where?\nA. one\nB. two \nC. three\nD. four\nAnswer:");
  EXPECT_THROW(load_family("mmlu_anatomy", folder.path(), {.num_fewshot = 3}), Error);
}

TEST(Mmlu, LimitCountsForEachSubject) {
  const test::TemporaryFolder folder;
  write_file(folder / "mmlu_test.jsonl",
             row("anatomy", "1", 0) + row("virology", "2", 0) + row("anatomy", "3", 0) + row("virology", "4", 0));
  const auto tasks = load_family("mmlu", folder.path(), {.limit = 1});
  ASSERT_EQ(tasks.size(), 2u);
  for (const Task& task : tasks) {
    EXPECT_EQ(task.items.size(), 1u);
    EXPECT_EQ(task.document_count, 2);
  }
}

TEST(Mmlu, BadRows) {
  const test::TemporaryFolder folder;
  for (const std::string& bad : {row("anatmy", "x", 0), row("anatomy", "x", 4),
                                 std::string(R"({"subject":"anatomy","question":"x","choices":["a","b"],"answer":0})"),
                                 std::string(R"({"question":"x","choices":["a","b","c","d"],"answer":0})")}) {
    write_file(folder / "mmlu_test.jsonl", row("anatomy", "good", 0) + bad);
    try {
      load_family("mmlu", folder.path());
      ADD_FAILURE() << "accepted " << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("mmlu_test.jsonl:2"), std::string::npos) << e.what();
    }
  }
  write_file(folder / "mmlu_test.jsonl", row("anatomy", "good", 0));
  EXPECT_THROW(load_family("mmlu_virology", folder.path()), Error);
}

}  // namespace
}  // namespace crope::eval
