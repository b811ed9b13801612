#include "crope/study/study_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "crope/base/error.h"
#include "tests/study/synthetic_study.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

namespace fs = std::filesystem;

class StudyRunFiles : public testing::Test {
 protected:
  StudyRun read() const { return read_study_run(dir_, "rope", 0); }

  std::string message() const {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << error.what();
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder folder_;
  fs::path dir_ = test::write_run(folder_.path(), "rope", 0, 3.25);
};

TEST_F(StudyRunFiles, GiveTheLastLosses) {
  const StudyRun run = read();
  EXPECT_EQ(run.name, "rope_0");
  EXPECT_EQ(run.val_loss, 3.25);
  EXPECT_EQ(run.other_losses.at("wiki"), 4.25);
  EXPECT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.last_step, 2);
  EXPECT_EQ(run.warmup_steps, 1);
  ASSERT_TRUE(run.parameters);
  EXPECT_EQ(run.parameters->attention, 2 * 4 * 32 * 32);
  EXPECT_TRUE(run.scores.empty());
  EXPECT_TRUE(run.warnings.empty());
}

TEST_F(StudyRunFiles, MayBeMissing) {
  fs::remove(dir_ / "run.json");
  fs::remove(dir_ / "metrics.jsonl");
  const StudyRun run = read();
  EXPECT_FALSE(run.parameters);
  EXPECT_FALSE(run.val_loss);
  EXPECT_EQ(run.warnings.size(), 1u);
}

TEST_F(StudyRunFiles, DamagedMetricsLinesAreSkippedWithAWarning) {
  write_file(dir_ / "metrics.jsonl",
             "{\"step\":1,\"val_loss\":3.5}\nnot json\n[1]\n{\"loss\":2}\n{\"step\":\"x\"}\n"
             "{\"step\":2,\"loss\":null,\"grad_norm\":\"inf\"}\n{\"step\":3,\"val_lo");
  const StudyRun run = read();
  EXPECT_EQ(run.val_loss, 3.5);
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_TRUE(std::isnan(run.steps[0].loss));
  EXPECT_TRUE(std::isnan(*run.steps[0].grad_norm));
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_EQ(run.warnings[0], "rope_0: skipped 5 damaged lines of metrics.jsonl, the first is line 2");
}

TEST_F(StudyRunFiles, ThatContradictTheFolderAreErrors) {
  write_json(dir_ / "run.json", test::run_record("rope", 1));
  EXPECT_NE(message().find("the seed is 1, but the folder's name says 0"), std::string::npos) << message();
  write_json(dir_ / "run.json", test::run_record("crope_all", 0));
  EXPECT_NE(message().find("the variant is \"crope_all\""), std::string::npos) << message();
  write_file(dir_ / "run.json", "[]");
  EXPECT_NE(message().find("run.json: expected a JSON object"), std::string::npos) << message();
}

TEST_F(StudyRunFiles, AModelThatCannotBeCountedIsAWarning) {
  Json record = test::run_record("rope", 0);
  record["model"]["d_model"] = -1;
  write_json(dir_ / "run.json", record);
  const StudyRun run = read();
  EXPECT_FALSE(run.parameters);
  EXPECT_NE(run.model_problem, "");
  record["parameters"] = {{"embedding", 10}, {"attention", 20}, {"feed_forward", 30}, {"norm", 4}, {"total", 64}};
  write_json(dir_ / "run.json", record);
  EXPECT_EQ(read().parameters->total(), 64) << "the block of run.json takes its place";
  record["parameters"].erase("norm");
  write_json(dir_ / "run.json", record);
  EXPECT_FALSE(read().parameters);
}

TEST_F(StudyRunFiles, StepsMayBeFloatsAndLossesPythonsNaN) {
  write_file(dir_ / "metrics.jsonl", "{\"step\":100.0,\"val_loss\":3.5}\n{\"step\":200.0,\"val_loss\":NaN}\n");
  const StudyRun run = read();
  EXPECT_EQ(run.last_step, 200);
  EXPECT_EQ(run.val_loss_step(), 200);
  EXPECT_TRUE(std::isnan(*run.val_loss));
  EXPECT_TRUE(run.warnings.empty());
}

TEST_F(StudyRunFiles, ItemsMakeScores) {
  write_file(dir_ / "items.jsonl",
             "{\"task\":\"mmlu_virology\",\"metric\":\"acc\",\"correct\":\"10\"}\n"
             "{\"task\":\"hellaswag\",\"metric\":\"acc_norm\",\"correct\":\"0111\"}\n"
             "{\"task\":\"mmlu_anatomy\",\"metric\":\"acc\",\"correct\":\"100\"}\n"
             "{\"task\":\"piqa\",\"metric\":\"acc\",\"correct\":\"1\"}\n"
             "{\"task\":\"unknown\",\"metric\":\"acc\",\"correct\":\"1\"}\n");
  const StudyRun run = read();
  EXPECT_EQ(run.scores.size(), 3u);
  EXPECT_DOUBLE_EQ(run.scores.at("piqa").value, 1);
  EXPECT_DOUBLE_EQ(run.scores.at("hellaswag").value, 0.75);
  EXPECT_DOUBLE_EQ(run.scores.at("mmlu").value, 0.4);
  EXPECT_EQ(run.scores.at("mmlu").leaves.begin()->first, "mmlu_anatomy");
}

TEST_F(StudyRunFiles, ScoresAloneHaveTheStandardErrorOfResults) {
  write_json(dir_ / "results.json",
             {{"results",
               {{"gsm8k", {{"exact_match,flexible-extract", 0.02}, {"exact_match_stderr,flexible-extract", 0.004}}},
                {"mmlu", {{"acc,none", 0.3}, {"acc_stderr,none", "N/A"}}},
                {"hellaswag", {{"acc_norm,none", 2}}}}}});
  const StudyRun run = read();
  EXPECT_EQ(run.scores.at("gsm8k").value, 0.02);
  EXPECT_EQ(run.scores.at("gsm8k").error, 0.004);
  EXPECT_FALSE(run.scores.at("mmlu").error);
  EXPECT_NE(run.scores.at("hellaswag").problem, "");
}

TEST_F(StudyRunFiles, ItemsMustAgreeWithResults) {
  write_json(dir_ / "results.json", {{"results", {{"hellaswag", {{"acc_norm,none", 0.75}}}}}});
  write_file(dir_ / "items.jsonl", "{\"task\":\"hellaswag\",\"correct\":\"0111\"}\n");
  EXPECT_EQ(read().scores.at("hellaswag").problem, "");
  write_file(dir_ / "items.jsonl", "{\"task\":\"hellaswag\",\"correct\":\"0011\"}\n");
  EXPECT_EQ(read().scores.at("hellaswag").problem, "rope_0: items.jsonl gives 0.5000, results.json 0.7500");
}

TEST_F(StudyRunFiles, DamagedItemsAreErrorsWithTheirLine) {
  for (const char* line :
       {"{\"task\":\"hellaswag\"}", "{\"task\":3,\"correct\":\"1\"}", "[]",
        "{\"task\":\"hellaswag\",\"correct\":\"012\"}", "{\"task\":\"hellaswag\",\"correct\":\"\"}"}) {
    write_file(dir_ / "items.jsonl", std::string("\n") + line + "\n");
    EXPECT_NE(message().find("items.jsonl, line 2"), std::string::npos) << line << ": " << message();
  }
  write_file(dir_ / "items.jsonl", "{\"task\":\"gsm8k\",\"correct\":\"1\"}\n{\"task\":\"gsm8k\",\"correct\":\"1\"}\n");
  EXPECT_NE(message().find("appears twice"), std::string::npos) << message();
  write_file(dir_ / "items.jsonl", "{\"task\":\"gsm8k\",\"corr");
  EXPECT_THROW(read(), Error);
}

// Whatever a file has lost, the answer is a run or an Error.
TEST_F(StudyRunFiles, CutAnywhereNeverCrash) {
  write_file(dir_ / "items.jsonl", "{\"task\":\"hellaswag\",\"metric\":\"acc_norm\",\"correct\":\"0111\"}\n");
  write_json(dir_ / "results.json",
             {{"results", {{"hellaswag", {{"acc_norm,none", 0.75}, {"acc_norm_stderr,none", 0.2}}}}}});
  for (const char* name : {"run.json", "metrics.jsonl", "items.jsonl", "results.json"}) {
    const std::string whole = read_file(dir_ / name);
    for (std::size_t size = 0; size < whole.size(); size += 3) {
      std::ofstream(dir_ / name, std::ios::binary) << whole.substr(0, size);
      try {
        read();
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
    write_file(dir_ / name, whole);
  }
}

}  // namespace
}  // namespace crope::study
