#include "crope/report/run_data.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

using test::make_run;

const Benchmark kHellaswag{.task = "hellaswag", .metric = "acc_norm,none", .error_metric = "acc_norm_stderr,none"};
const Benchmark kGsm8k{
    .task = "gsm8k", .metric = "exact_match,flexible-extract", .error_metric = "exact_match_stderr,flexible-extract"};

TEST(RunData, ReadsWhatTheRunLeft) {
  const test::TemporaryFolder folder;
  const RunData run = read_run(make_run(folder / "a", {.variant = "crope_all", .steps = 100}));
  EXPECT_EQ(run.variant, "crope_all");
  EXPECT_EQ(run.train_loss.size(), 100u);
  EXPECT_EQ(run.train_loss.back().first, 100);
  EXPECT_EQ(run.val_loss.size(), 2u);
  EXPECT_EQ(run.tokens, 51200);
  EXPECT_TRUE(run.notes.empty());
  EXPECT_NEAR(*median_rate(run), 9030, 1e-9);
  EXPECT_NEAR(find_score(run, kHellaswag)->value, 0.328, 1e-9);
  EXPECT_NEAR(find_score(run, kHellaswag)->error, 0.0046, 1e-9);
  EXPECT_NEAR(find_score(run, kGsm8k)->value, 0.013, 1e-9);
  EXPECT_EQ(*final_val_loss(run), run.val_loss.back().second);
}

TEST(RunData, MissingPartsAreNamed) {
  const test::TemporaryFolder folder;
  const auto dir = make_run(folder / "a", {.validates = false, .evaluated = false});
  const RunData run = read_run(dir);
  ASSERT_EQ(run.notes.size(), 2u);
  EXPECT_NE(run.notes[0].find("no validation losses"), std::string::npos);
  EXPECT_NE(run.notes[1].find("no results.json"), std::string::npos);
  EXPECT_FALSE(find_score(run, kHellaswag).has_value());
}

TEST(RunData, DamagedFilesAreSkippedAndNamed) {
  const test::TemporaryFolder folder;
  const auto dir = make_run(folder / "a", {.steps = 5});
  write_file(dir / "metrics.jsonl",
             "{\"step\":1,\"loss\":3}\n{\"step\":2,\"lo\n\n[]\n{\"step\":\"x\",\"loss\":1}\n{\"step\":3,\"loss\":2,"
             "\"val_loss\":null}\n");
  write_file(dir / "results.json", "{\"results\": {\"mmlu\": 3, \"hellaswag\": {\"acc_norm,none\": \"N/A\"}}}");
  write_file(dir / "run.json", "[1, 2");
  const RunData run = read_run(dir);
  EXPECT_EQ(run.train_loss, (Points{{1, 3}, {3, 2}}));
  ASSERT_FALSE(run.notes.empty());
  EXPECT_NE(run.notes[0].find("run.json was skipped"), std::string::npos);
  EXPECT_FALSE(find_score(run, kHellaswag).has_value());
  EXPECT_FALSE(find_score(run, {.task = "mmlu", .metric = "acc,none"}).has_value());
}

TEST(RunData, FoldersThatAreNoRunsAreRefused) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(read_run(folder / "absent"), Error);
  EXPECT_THROW(read_run(folder.path()), Error);
}

TEST(RunData, TheSeedComesFromTheRecordOrTheFolder) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_run(make_run(folder / "rope_3", {.steps = 3, .seed = 7})).seed, 7);
  EXPECT_EQ(read_run(make_run(folder / "rope_4", {.steps = 3})).seed, 4);
  for (const char* name : {"rope_", "rope_4a", "other_4", "rope"})
    EXPECT_FALSE(read_run(make_run(folder / name, {.steps = 3})).seed.has_value()) << name;
  EXPECT_EQ(folder_name("out/rope/"), "rope");
  EXPECT_EQ(folder_name("out/rope"), "rope");
}

TEST(RunData, LabelsTellRunsApart) {
  const test::TemporaryFolder folder;
  const auto runs = read_runs({make_run(folder / "seed0", {.steps = 3}), make_run(folder / "seed1", {.steps = 3}),
                               make_run(folder / "c", {.variant = "crope_qk", .steps = 3})});
  EXPECT_EQ(runs[0].label, "seed0");
  EXPECT_EQ(runs[1].label, "seed1");
  EXPECT_EQ(runs[2].label, "crope_qk");
}

}  // namespace
}  // namespace crope::report
