#include "crope/study/run_queue.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/study/corpus.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

namespace fs = std::filesystem;

class RunQueue : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 4000; ++i) text += "word number " + std::to_string(i % 89) + " and then ";
    write_file(folder_ / "text.txt", text);
    corpus_ = make_corpus(folder_.path(), {.data = folder_ / "text.txt", .vocab_size = 300}, log_);
  }

  Experiment experiment(const std::string& name) const {
    return {.job = {.given = {{"num_layers", 1},
                              {"num_heads", 2},
                              {"d_model", 16},
                              {"d_ff", 16},
                              {"steps", 2},
                              {"batch_size", 2},
                              {"seq_len", 32},
                              {"warmup_steps", 1},
                              {"validate_every", 2},
                              {"sample_tokens", 0},
                              {"threads", 1}},
                    .run = folder_ / name,
                    .data = corpus_.data,
                    .init_from = {}},
            .benchmarks = {}};
  }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
  Corpus corpus_;
};

TEST_F(RunQueue, MakesEveryRun) {
  EXPECT_TRUE(run_experiments({experiment("rope_0"), experiment("rope_1")}, /*jobs=*/0, log_));
  EXPECT_TRUE(is_finished_run(folder_ / "rope_0"));
  EXPECT_TRUE(is_finished_run(folder_ / "rope_1"));
  EXPECT_FALSE(is_finished_run(folder_ / "rope_2"));
}

TEST_F(RunQueue, AFailureEndsTheQueueAndNamesTheLog) {
  std::vector<Experiment> experiments;
  for (const char* name : {"rope_0", "rope_1", "rope_2", "rope_3"}) {
    experiments.push_back(experiment(name));
    experiments.back().launcher = {
        .command = "false", .program = "crope", .log = folder_ / (std::string(name) + ".log")};
  }
  try {
    run_experiments(experiments, /*jobs=*/2, log_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find(".log"), std::string::npos) << e.hint();
  }
  EXPECT_FALSE(fs::exists(folder_ / "rope_3.log"));  // nothing new begins after a failure
}

// A child that ends well without having trained to the last step was stopped by someone else.
TEST_F(RunQueue, ARunThatStopsEarlyIsAnError) {
  std::vector<Experiment> experiments = {experiment("rope_0")};
  experiments[0].launcher = {.command = "true", .program = "crope", .log = folder_ / "rope_0.log"};
  try {
    run_experiments(experiments, /*jobs=*/1, log_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "rope_0 stopped before step 2");
  }
}

}  // namespace
}  // namespace crope::study
