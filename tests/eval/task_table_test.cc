#include "crope/eval/task_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/eval/load_task.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

using Strings = std::vector<std::string>;

// The item of a row in a file of that name.
Item item_of(const std::string& task, const std::string& file, const std::string& row) {
  const test::TemporaryFolder folder;
  write_file(folder / file, row);
  return load_task(task, folder.path()).items.at(0);
}

TEST(TaskTable, RowsAreComplete) {
  std::set<std::string> names;
  for (const TaskRow& row : task_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_task(row.name), &row);
    EXPECT_TRUE(row.read != nullptr || row.load != nullptr) << row.name;
    ASSERT_FALSE(row.headlines.empty()) << row.name;
    for (const MetricKey& key : row.headlines) {
      EXPECT_NE(std::ranges::find(row.metrics, key.metric), row.metrics.end()) << row.name;
    }
    EXPECT_TRUE(row.chance >= 0 && row.chance < 1) << row.name;
    EXPECT_NE(task_names().find(row.name), std::string::npos);
    // The first headline decides which items are right: it is no perplexity.
    EXPECT_EQ(row.counts_items(), is_higher_better(row.headlines.front().metric)) << row.name;
  }
}

TEST(TaskTable, NamesOfAFamilyHaveOneRow) {
  EXPECT_STREQ(find_task("mmlu_anatomy")->name, "mmlu");
  EXPECT_STREQ(find_task("mmlu_stem")->name, "mmlu");
  EXPECT_EQ(find_task("mmlu_x"), nullptr);
  EXPECT_EQ(find_task(""), nullptr);
  EXPECT_EQ(find_task("piqa2"), nullptr);
  EXPECT_THROW(require_task("piqq"), UsageError);
}

std::string kind_text(TaskKind kind) {
  switch (kind) {
    case TaskKind::multiple_choice:
      return "multiple choice";
    case TaskKind::last_word:
      return "last word";
    case TaskKind::generation:
      return "generated text";
    case TaskKind::rolling_likelihood:
      return "whole texts";
  }
  return "";
}

// docs/evaluation.md has one line for each row, as it is here.
TEST(TaskTable, IsTheTableInTheDocs) {
  const std::string docs = read_file(std::string(CROPE_SOURCE_DIR) + "/docs/evaluation.md");
  for (const TaskRow& row : task_table()) {
    std::string metrics, files;
    for (const MetricId metric : row.metrics) {
      const std::string name = fmt::format("`{}`", metric_name(metric));
      const bool is_headline = metric == row.headlines.front().metric;
      metrics += (metrics.empty() ? "" : ", ") + (is_headline ? "**" + name + "**" : name);
    }
    for (const char* file : row.question_files) files += fmt::format("{}`{}`", files.empty() ? "" : ", ", file);
    const std::string chance = row.chance > 0 ? fmt::format("{}", row.chance) : "–";
    const std::string line = fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", row.name, row.title,
                                         kind_text(row.kind), metrics, chance, row.split, files.empty() ? "–" : files);
    EXPECT_NE(docs.find(line), std::string::npos) << "docs/evaluation.md lacks the line\n" << line;
  }
}

TEST(TaskTable, Arc) {
  const char* row =
      R"({"id": "x", "question": "Why?", "choices": {"text": ["a", "b", "c"], "label": ["1", "2", "3"]}, )"
      R"("answerKey": "3"})";
  const Item item = item_of("arc_easy", "arc_easy_test.jsonl", row);
  EXPECT_EQ(item.context, "Question: Why?\nAnswer:");
  EXPECT_EQ(item.choices, (Strings{"a", "b", "c"}));
  EXPECT_EQ(item.gold, 2);
  EXPECT_EQ(item.target, "2");
  // The publisher's form gives the same item.
  const Item official = item_of("arc_easy", "ARC-Easy-Test.jsonl",
                                R"({"id": "x", "question": {"stem": "Why?", "choices": [{"text": "a", "label": "1"}, )"
                                R"({"text": "b", "label": "2"}, {"text": "c", "label": "3"}]}, "answerKey": "3"})");
  EXPECT_EQ(official.doc, item.doc);
  EXPECT_EQ(official.context, item.context);
  EXPECT_EQ(official.gold, item.gold);
}

TEST(TaskTable, OpenBookQa) {
  const Item item =
      item_of("openbookqa", "test.jsonl",
              R"({"id": "x", "question_stem": "Fog is near", "choices": {"text": ["a marsh", "a desert"], )"
              R"("label": ["A", "B"]}, "answerKey": " B"})");
  EXPECT_EQ(item.context, "Fog is near");
  EXPECT_EQ(item.gold, 1);
  const Item official = item_of("openbookqa", "test.jsonl",
                                R"({"id": "x", "question": {"stem": "Fog is near", "choices": [{"text": "a marsh", )"
                                R"("label": "A"}, {"text": "a desert", "label": "B"}]}, "answerKey": "B"})");
  EXPECT_EQ(official.context, item.context);
  EXPECT_EQ(official.choices, item.choices);
}

TEST(TaskTable, Piqa) {
  const Item item =
      item_of("piqa", "valid.jsonl", R"({"goal": "To dry", "sol1": "wring", "sol2": "soak", "label": 1})");
  EXPECT_EQ(item.context, "Question: To dry\nAnswer:");
  EXPECT_EQ(item.choices, (Strings{"wring", "soak"}));
  EXPECT_EQ(item.gold, 1);
}

TEST(TaskTable, BoolQ) {
  for (const char* answer : {R"("answer": true)", R"("label": true)", R"("label": 1)"}) {
    const Item item =
        item_of("boolq", "val.jsonl", fmt::format(R"({{"question": "is it", "passage": "It is.", {}}})", answer));
    EXPECT_EQ(item.context, "It is.\nQuestion: is it?\nAnswer:");
    EXPECT_EQ(item.choices, (Strings{"no", "yes"}));
    EXPECT_EQ(item.gold, 1);
  }
}

TEST(TaskTable, WinoGrande) {
  const Item item = item_of("winogrande", "dev.jsonl",
                            R"({"sentence": "The _ broke a _.  ", "option1": "cup", "option2": "jar", "answer": "2"})");
  EXPECT_EQ(item.context, "");
  EXPECT_EQ(item.choices, (Strings{"The cup", "The jar"}));
  EXPECT_EQ(item.continuation, "broke a _.");
  EXPECT_EQ(item.target, "broke a _.");
  EXPECT_EQ(item.gold, 1);
}

TEST(TaskTable, Lambada) {
  const Item item = item_of("lambada_openai", "test.jsonl", R"({"text": "It was  a\ndark night"})");
  EXPECT_EQ(item.context, "It was  a\ndark");
  EXPECT_EQ(item.target, " night");
  EXPECT_EQ(item_of("lambada_openai", "test.jsonl", R"({"text": "Alone"})").target, " Alone");
}

TEST(TaskTable, Gsm8k) {
  const test::TemporaryFolder folder;
  write_file(folder / "test.jsonl", R"({"question": "How many?", "answer": "Three.\n#### 3"})");
  const Task task = load_task("gsm8k", folder.path());
  EXPECT_EQ(task.items[0].context, "Question: How many?\nAnswer:");
  EXPECT_EQ(task.items[0].target, "Three.\n#### 3");
  EXPECT_EQ(task.stop, (Strings{"Question:", "</s>", "<|im_end|>"}));
  EXPECT_EQ(task.max_generated_tokens, 256);
}

TEST(TaskTable, BadDocumentsNameFileLineAndField) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"arc_easy", R"({"question": "Q", "choices": {"text": ["a"], "label": ["A"]}, "answerKey": "B"})", "answerKey"},
      {"arc_easy", R"({"question": "Q", "choices": {"text": ["a", "b"], "label": ["A"]}, "answerKey": "A"})",
       "answerKey"},
      {"arc_easy", R"({"question": "Q", "choices": ["a"], "answerKey": "A"})", "choices"},
      {"arc_easy", R"({"question": {"stem": "Q", "choices": [3]}, "answerKey": "A"})", "text"},
      {"arc_easy", R"({"question": {"stem": 4, "choices": [{"text": "a", "label": "A"}]}, "answerKey": "A"})",
       "question"},
      {"piqa", R"({"goal": "G", "sol1": "a", "sol2": "b"})", "label"},
      {"piqa", R"({"goal": "G", "sol1": "a", "sol2": "b", "label": -1})", "label"},
      {"winogrande", R"({"sentence": "no blank", "option1": "a", "option2": "b", "answer": "1"})", "sentence"},
      {"winogrande", R"({"sentence": "_", "option1": "a", "option2": "b", "answer": ""})", "answer"},
      {"boolq", R"({"question": "q", "passage": "p", "answer": "maybe"})", "answer"},
      {"openbookqa", R"({"question_stem": "q", "answerKey": "A"})", "choices"},
      {"lambada_openai", R"({"text": 3})", "text"},
      {"gsm8k", R"({"question": "q"})", "answer"},
  };
  for (const auto& [task, row, field] : cases) {
    const std::string file = require_task(task).split == std::string(kTest) ? "test.jsonl" : "val.jsonl";
    try {
      item_of(task, file, row);
      ADD_FAILURE() << task << " accepted " << row;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(file + ":1"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  }
}

// Every row of the published files, where they are at hand.
TEST(TaskTable, RealFilesAreRead) {
  const char* data = std::getenv("CROPE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "CROPE_TEST_DATA is not set: no real data here";
  const std::pair<const char*, std::size_t> counts[] = {
      {"arc_easy", 2376},  {"arc_challenge", 1172}, {"piqa", 1838},          {"winogrande", 1267},
      {"openbookqa", 500}, {"boolq", 3270},         {"lambada_openai", 5153}};
  for (const auto& [task, count] : counts) {
    EXPECT_EQ(load_task(task, std::filesystem::path(data) / "eval").items.size(), count) << task;
  }
}

}  // namespace
}  // namespace crope::eval
