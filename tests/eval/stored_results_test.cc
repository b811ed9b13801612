#include "crope/eval/stored_results.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

const ResultsIdentity kIdentity{.model = "out/run", .fingerprint = "abc"};

Json results_of(const std::string& task, double accuracy, int items, int all) {
  return {{"results", {{task, {{"acc,none", accuracy}, {"acc_stderr,none", "N/A"}, {"sample_len", items}}}}},
          {"group_subtasks", Json::object()},
          {"n-shot", {{task, 0}}},
          {"n-samples", {{task, {{"original", all}, {"effective", items}}}}},
          {"config", {{"add_bos_token", false}}},
          {"model_name", "out/run"},
          {"model_fingerprint", "abc"}};
}

Json row_of(const std::string& task, const std::string& correct) {
  return {{"task", task}, {"metric", "acc"}, {"correct", correct}};
}

std::string line_of(const std::string& task, const std::string& correct) {
  return row_of(task, correct).dump() + "\n";
}

class Stored : public testing::Test {
 protected:
  void write(const Json& results, const std::string& items) {
    write_json(folder_ / "results.json", results);
    write_file(folder_ / "items.jsonl", items);
  }
  StoredResults read(const ResultsIdentity& identity = kIdentity) { return {folder_.path(), identity, log_}; }
  TaskList limited(const std::string& task, int items, int all) {
    TaskList list{.tasks = {{.name = task, .document_count = all}}};
    list.tasks[0].items.resize(static_cast<std::size_t>(items));
    return list;
  }
  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_F(Stored, AnEmptyFolderChangesNothing) {
  const Json fresh = results_of("boolq", 0.5, 4, 4);
  EXPECT_EQ(read().merged(fresh, {}), fresh);
  EXPECT_EQ(read().merged_items({row_of("boolq", "0101")}, {}), line_of("boolq", "0101"));
  EXPECT_TRUE(read().kept_tasks(limited("boolq", 1, 4), false, log_).empty());
}

TEST_F(Stored, TasksAreAddedAndReplaced) {
  write(results_of("boolq", 0.5, 4, 4), line_of("boolq", "0101"));
  const Json added = read().merged(results_of("piqa", 0.25, 4, 4), {});
  EXPECT_EQ(added["results"].size(), 2u);
  EXPECT_EQ(added["n-samples"]["boolq"]["effective"], 4);
  EXPECT_EQ(read().merged_items({row_of("piqa", "1000")}, {}), line_of("boolq", "0101") + line_of("piqa", "1000"));
  const Json replaced = read().merged(results_of("boolq", 0.75, 4, 4), {});
  EXPECT_EQ(replaced["results"]["boolq"]["acc,none"], 0.75);
  EXPECT_EQ(read().merged_items({row_of("boolq", "0111")}, {}), line_of("boolq", "0111"));
}

TEST_F(Stored, FewerItemsByALimitAreNotStored) {
  write(results_of("boolq", 0.5, 4, 4), line_of("boolq", "0101"));
  const auto kept = read().kept_tasks(limited("boolq", 2, 4), false, log_);
  EXPECT_EQ(kept, std::set<std::string>{"boolq"});
  EXPECT_EQ(read().merged(results_of("boolq", 1, 2, 4), kept)["results"]["boolq"]["sample_len"], 4);
  EXPECT_EQ(read().merged_items({row_of("boolq", "11")}, kept), line_of("boolq", "0101"));
  EXPECT_TRUE(read().kept_tasks(limited("boolq", 2, 4), true, log_).empty()) << "asked for";
  EXPECT_TRUE(read().kept_tasks(limited("boolq", 3, 3), false, log_).empty()) << "all of a smaller file";
  EXPECT_TRUE(read().kept_tasks(limited("boolq", 4, 9), false, log_).empty()) << "as many";
}

TEST_F(Stored, GroupsAreComputedFromTheMergedTasks) {
  Json stored = results_of("mmlu_anatomy", 0.5, 4, 4);
  write(stored, "");
  Json fresh = results_of("mmlu_virology", 1, 4, 4);
  fresh["results"]["mmlu"] = {{"alias", "mmlu"}, {"name", "mmlu"}};
  fresh["group_subtasks"]["mmlu"] = {"mmlu_anatomy", "mmlu_virology"};
  EXPECT_EQ(read().merged(fresh, {})["groups"]["mmlu"]["acc,none"], 0.75);
}

TEST_F(Stored, OnlyResultsOfTheSameWeightsAndSettingsStay) {
  write(results_of("boolq", 0.5, 4, 4), line_of("boolq", "0101"));
  const Json fresh = results_of("piqa", 0.25, 4, 4);
  for (const ResultsIdentity& other : {ResultsIdentity{.model = "out/run", .fingerprint = "other"},
                                       ResultsIdentity{.model = "out/run", .fingerprint = "abc", .add_bos = true}}) {
    EXPECT_EQ(read(other).merged(fresh, {}), fresh);
    EXPECT_EQ(read(other).merged_items({row_of("piqa", "1000")}, {}), line_of("piqa", "1000"));
  }
  // A file of an older version or of lm_eval has no fingerprint.
  Json old = results_of("boolq", 0.5, 4, 4);
  old.erase("model_fingerprint");
  old.erase("config");
  write(old, "");
  EXPECT_EQ(read().merged(fresh, {})["results"].size(), 2u);
  EXPECT_EQ(read({.model = "out/another", .fingerprint = "abc"}).merged(fresh, {})["results"].size(), 1u);
}

TEST_F(Stored, DamagedFilesAreNotOverwritten) {
  for (const char* text : {"{", "[]", "{\"results\": 3}"}) {
    write_file(folder_ / "results.json", text);
    EXPECT_THROW(read(), Error) << text;
  }
  write(results_of("boolq", 0.5, 4, 4), "{\"correct\": \"01\"}\n");
  EXPECT_THROW(read(), Error);
}

TEST(HasResults, AllTasksAtThePlannedLimit) {
  Json document = results_of("boolq", 0.5, 4, 10);
  EXPECT_TRUE(has_results(document, {"boolq"}, 4));
  EXPECT_TRUE(has_results(document, {"boolq"}, 3)) << "more than planned";
  EXPECT_FALSE(has_results(document, {"boolq"}, 5));
  EXPECT_FALSE(has_results(document, {"boolq"}, 0));
  EXPECT_FALSE(has_results(document, {"boolq", "piqa"}, 4));
  document["n-samples"]["boolq"]["effective"] = 10;
  EXPECT_TRUE(has_results(document, {"boolq"}, 0));
  EXPECT_TRUE(has_results(document, {"boolq"}, 500)) << "no more than there are";
  EXPECT_FALSE(has_results(nullptr, {"boolq"}, 0));
}

}  // namespace
}  // namespace crope::eval
