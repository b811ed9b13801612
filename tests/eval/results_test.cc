#include "crope/eval/results.h"

#include <gtest/gtest.h>

namespace crope::eval {
namespace {

Task choice_task(const std::string& name, int items) {
  Task task{.name = name, .alias = name, .metrics = {MetricId::acc}, .headline = MetricKey{MetricId::acc}};
  for (int i = 0; i < items; ++i) {
    task.items.push_back(
        {.doc = {{"question", "é\n"}, {"n", i}}, .context = "Q", .choices = {"A", "B"}, .gold = 0, .target = "0"});
  }
  task.document_count = 10;
  return task;
}

Response scores(double a, double b) {
  return {.log_likelihoods = {a, b}, .is_greedy = {a > b, false}};
}

TEST(Results, DocumentHasLmEvalsSchema) {
  TaskList list{.names = {"mmlu"}, .tasks = {choice_task("mmlu_anatomy", 3), choice_task("mmlu_virology", 2)}};
  list.groups.push_back({.name = "mmlu", .alias = "mmlu", .children = {"mmlu_anatomy", "mmlu_virology"}});
  const std::vector<TaskOutcome> outcomes = {
      make_outcome(list.tasks[0], {scores(-1, -2), scores(-2, -1), scores(-1, -2)}),
      make_outcome(list.tasks[1], {scores(-1, -2), scores(-1, -2)})};
  const Json document = results_document(list, outcomes, {.model = "out/model", .limit = 3});
  EXPECT_EQ(document["results"]["mmlu_anatomy"]["acc,none"], 2.0 / 3);
  EXPECT_EQ(document["results"]["mmlu_anatomy"]["acc_stderr,none"], 0.33333333333333337);
  EXPECT_EQ(document["results"]["mmlu_anatomy"]["sample_len"], 3);
  EXPECT_EQ(document["results"]["mmlu"]["acc,none"], 0.8);
  EXPECT_EQ(document["groups"]["mmlu"], document["results"]["mmlu"]);
  EXPECT_EQ(document["group_subtasks"]["mmlu"], (Json{"mmlu_anatomy", "mmlu_virology"}));
  EXPECT_EQ(document["n-samples"]["mmlu_anatomy"], (Json{{"original", 10}, {"effective", 3}}));
  EXPECT_EQ(document["n-shot"]["mmlu"], 0);
  EXPECT_EQ(document["higher_is_better"]["mmlu"]["acc"], true);
  EXPECT_EQ(document["config"]["limit"], 3);
  EXPECT_EQ(document["model_name_sanitized"], "out__model");

  const auto lines = headlines(document, list.names[0]);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].metric, "acc");
  EXPECT_EQ(lines[0].items, 5);
}

TEST(Results, ItemRowsHaveOneCharacterPerItem) {
  Task hellaswag = choice_task("hellaswag", 3);
  hellaswag.metrics = {MetricId::acc, MetricId::acc_norm};
  hellaswag.headline = {MetricId::acc_norm};
  for (Item& item : hellaswag.items) item.choices = {"AAAA", "B"};  // acc_norm divides by 4 and by 1
  Task gsm8k{.name = "gsm8k",
             .alias = "gsm8k",
             .kind = TaskKind::generation,
             .metrics = {MetricId::exact_match},
             .headline = MetricKey{MetricId::exact_match, Filter::flexible_extract}};
  gsm8k.items.resize(2, {.doc = {}, .context = "Q", .target = "#### 4"});
  const TaskList list{.names = {"hellaswag", "mmlu_anatomy", "gsm8k"},
                      .tasks = {hellaswag, choice_task("mmlu_anatomy", 2), gsm8k}};
  const std::vector<TaskOutcome> outcomes = {
      make_outcome(list.tasks[0], {scores(-2, -1), scores(-8, -1), scores(-1, -2)}),
      make_outcome(list.tasks[1], {scores(-2, -1), scores(-1, -2)}),
      make_outcome(list.tasks[2], {{.text = " so 5"}, {.text = " so 4"}})};
  const std::vector<Json> rows = item_rows(list, outcomes);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].dump(), R"({"task":"hellaswag","metric":"acc_norm","correct":"101"})");
  EXPECT_EQ(rows[1].dump(), R"({"task":"mmlu_anatomy","metric":"acc","correct":"01"})");
  EXPECT_EQ(rows[2].dump(), R"({"task":"gsm8k","metric":"exact_match","correct":"01"})");
}

TEST(Results, GroupsOfMixedOrMissingTasksAreRemoved) {
  TaskList list{.names = {"mmlu"}, .tasks = {choice_task("mmlu_anatomy", 2), choice_task("mmlu_virology", 2)}};
  list.groups.push_back({.name = "mmlu", .alias = "mmlu", .children = {"mmlu_anatomy", "mmlu_virology"}});
  const std::vector<TaskOutcome> outcomes = {make_outcome(list.tasks[0], {scores(-1, -2), scores(-2, -1)}),
                                             make_outcome(list.tasks[1], {scores(-1, -2), scores(-1, -2)})};
  const Json document = results_document(list, outcomes, {});
  EXPECT_EQ(document["results"]["mmlu"]["acc,none"], 0.75);
  Json mixed = document, missing = document;
  mixed["n-shot"]["mmlu_virology"] = 5;
  update_groups(mixed);
  EXPECT_FALSE(mixed["results"].contains("mmlu"));
  EXPECT_FALSE(mixed["group_subtasks"].contains("mmlu"));
  missing["results"].erase("mmlu_virology");
  update_groups(missing);
  EXPECT_FALSE(missing["results"].contains("mmlu"));
  EXPECT_FALSE(missing.contains("groups"));
  EXPECT_EQ(headlines(document, "mmlu").at(0).items, 4);
  EXPECT_TRUE(headlines(missing, "mmlu").empty());
  EXPECT_TRUE(headlines(nullptr, "mmlu").empty());
}

TEST(Results, SamplesOfChoicesThatEndTheContext) {
  Task task = choice_task("winogrande", 1);
  task.items[0].context = "Shot.\n\n";
  task.items[0].continuation = "sleeps.";
  const Json line = parse_json(sample_lines(task, make_outcome(task, {scores(-1, -2.5)})), "samples");
  EXPECT_EQ(line["arguments"]["gen_args_1"], (Json{{"arg_0", "Shot.\n\nB"}, {"arg_1", " sleeps."}}));
  // SHA-256 of the first request's context.
  EXPECT_EQ(line["prompt_hash"], "8b5634100c0ee9f82e947a6e3f0f3d915797edc7aad769a7e2c061f948081881");
}

TEST(Results, ASingleItemHasNoError) {
  TaskList list{.names = {"mmlu_anatomy"}, .tasks = {choice_task("mmlu_anatomy", 1)}};
  const std::vector<TaskOutcome> outcomes = {make_outcome(list.tasks[0], {scores(-1, -2)})};
  const Json document = results_document(list, outcomes, {});
  EXPECT_EQ(document["results"]["mmlu_anatomy"]["acc_stderr,none"], "N/A");
  EXPECT_FALSE(document.contains("groups"));
  EXPECT_FALSE(headlines(document, list.names[0])[0].standard_error);
}

// The strings and digests are what lm_eval 0.4.13 writes for the same document.
TEST(Results, SampleLines) {
  const Task task = choice_task("mmlu_anatomy", 1);
  const Json line = parse_json(sample_lines(task, make_outcome(task, {scores(-1, -2.5)})), "samples");
  EXPECT_EQ(line["doc_id"], 0);
  EXPECT_EQ(line["target"], "0");
  EXPECT_EQ(line["arguments"]["gen_args_1"], (Json{{"arg_0", "Q"}, {"arg_1", " B"}}));
  EXPECT_EQ(line["resps"].dump(), R"([[["-1.0","True"]],[["-2.5","False"]]])");
  EXPECT_EQ(line["filtered_resps"].dump(), R"([["-1.0","True"],["-2.5","False"]])");
  EXPECT_EQ(line["filter"], "none");
  EXPECT_EQ(line["metrics"], Json{"acc"});
  EXPECT_EQ(line["acc"], 1.0);
  EXPECT_EQ(line["doc_hash"], "2bc8dfc2f9188991e013a39efbd1c10737d9f8f25476019962c3e429c318ded5");
  EXPECT_EQ(line["prompt_hash"], "4ae81572f06e1b88fd5ced7a1a000945432e83e1551e6f721ee9c00b8cc33260");
  EXPECT_EQ(line["target_hash"], "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9");
}

TEST(Results, GenerationsHaveALineForEachFilter) {
  Task task{.name = "gsm8k", .alias = "gsm8k", .kind = TaskKind::generation, .metrics = {MetricId::exact_match}};
  task.config = {{"generation_kwargs", {{"until", {"Question:"}}}}};
  task.items.push_back({.doc = {{"question", "Q"}}, .context = "Q", .target = "#### 4"});
  const std::string lines = sample_lines(task, make_outcome(task, {{.text = " so 4"}}));
  const std::size_t end = lines.find('\n');
  const Json strict = parse_json(lines.substr(0, end), "1"), flexible = parse_json(lines.substr(end + 1), "2");
  EXPECT_EQ(strict["filter"], "strict-match");
  EXPECT_EQ(strict["filtered_resps"], Json{"[invalid]"});
  EXPECT_EQ(strict["exact_match"], 0.0);
  EXPECT_EQ(flexible["filtered_resps"], Json{"4"});
  EXPECT_EQ(flexible["resps"].dump(), R"([[" so 4"]])");
  EXPECT_EQ(flexible["exact_match"], 1.0);
}

}  // namespace
}  // namespace crope::eval
