#include "crope/eval/task_list.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

using Names = std::vector<std::string>;

std::string mmlu_row(const std::string& subject) {
  return R"({"subject": ")" + subject + R"(", "question": "Q", "choices": ["a", "b", "c", "d"], "answer": 0})" + "\n";
}

TEST(TaskList, NamesAreCheckedAndTheNearestSuggested) {
  EXPECT_EQ(parse_task_names("hellaswag,gsm8k,hellaswag"), (Names{"hellaswag", "gsm8k"}));
  EXPECT_EQ(parse_task_names("mmlu_stem,mmlu_anatomy"), (Names{"mmlu_stem", "mmlu_anatomy"}));
  const std::pair<const char*, const char*> slips[] = {
      {"helaswag", "hellaswag"}, {"gsm8", "gsm8k"}, {"mmlu_anatmy", "mmlu_anatomy"}, {"qqqqqqqqqqqq", "perplexity"}};
  for (const auto& [slip, meant] : slips) {
    try {
      parse_task_names(slip);
      ADD_FAILURE() << slip;
    } catch (const UsageError& e) {
      EXPECT_NE(e.hint().find(meant), std::string::npos) << e.hint();
    }
  }
  EXPECT_THROW(parse_task_names(""), UsageError);
  EXPECT_THROW(parse_task_names(","), UsageError);
}

TEST(TaskList, TasksStandInTheOrderOfTheirNames) {
  const test::TemporaryFolder folder;
  write_file(folder / "mmlu_test.jsonl", mmlu_row("virology") + mmlu_row("anatomy"));
  write_file(folder / "piqa_valid.jsonl", R"({"goal": "G", "sol1": "a", "sol2": "b", "label": 0})");
  Log log(nullptr);
  const TaskList list = load_tasks(Names{"mmlu_virology", "piqa", "mmlu_anatomy"}, folder.path(), {}, {}, log);
  Names names;
  for (const Task& task : list.tasks) names.push_back(task.name);
  EXPECT_EQ(names, (Names{"mmlu_virology", "mmlu_anatomy", "piqa"}));
  EXPECT_TRUE(list.groups.empty());
}

TEST(TaskList, GroupsHoldTheSubjectsThatAreThere) {
  const test::TemporaryFolder folder;
  write_file(folder / "mmlu_test.jsonl", mmlu_row("virology") + mmlu_row("anatomy") + mmlu_row("astronomy"));
  Log log(nullptr);
  const TaskList all = load_tasks(Names{"mmlu"}, folder.path(), {}, {}, log);
  ASSERT_EQ(all.tasks.size(), 3u);
  ASSERT_EQ(all.groups.size(), 3u);
  EXPECT_EQ(all.groups[0].name, "mmlu_stem");
  EXPECT_EQ(all.groups[0].children, (Names{"mmlu_anatomy", "mmlu_astronomy"}));
  EXPECT_EQ(all.groups[2].name, "mmlu");
  EXPECT_EQ(all.groups[2].children, (Names{"mmlu_stem", "mmlu_other"}));

  const TaskList some = load_tasks(Names{"mmlu_virology", "mmlu_stem"}, folder.path(), {}, {}, log);
  ASSERT_EQ(some.groups.size(), 1u);
  EXPECT_EQ(some.groups[0].name, "mmlu_stem");
  EXPECT_EQ(some.tasks.size(), 3u);
}

}  // namespace
}  // namespace crope::eval
