#include "crope/study/experiment.h"

#include <gtest/gtest.h>

#include "crope/study/small_world.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

namespace fs = std::filesystem;

TEST(Experiment, TrainsAndEvaluatesOnce) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  const SmallWorld world = make_small_world(
      folder.path(),
      {.documents = 400, .vocab_size = 300, .benchmarks = {.hellaswag_items = 6, .mmlu_items = 8, .gsm8k_items = 2}},
      log);
  Experiment experiment{.job = {.given = {{"variant", "crope_all"},
                                          {"num_layers", 1},
                                          {"num_heads", 2},
                                          {"d_model", 16},
                                          {"d_ff", 16},
                                          {"steps", 4},
                                          {"batch_size", 2},
                                          {"seq_len", 32},
                                          {"warmup_steps", 1},
                                          {"validate_every", 2},
                                          {"threads", 1}},
                                .run = folder / "run",
                                .data = world.data,
                                .init_from = {}},
                        .benchmarks = world.benchmarks,
                        .tasks = {"hellaswag", "mmlu"}};
  const auto outcome = run_experiment(experiment, log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->variant, "crope_all");
  EXPECT_EQ(outcome->attention_parameters, 512);
  EXPECT_TRUE(outcome->loss && outcome->val_loss);
  ASSERT_EQ(outcome->scores.size(), 2u);
  EXPECT_EQ(outcome->scores[0].task, "hellaswag");
  EXPECT_EQ(outcome->scores[0].items, 6);

  const auto time = fs::last_write_time(folder / "run/results.json");
  const auto again = run_experiment(experiment, log);
  EXPECT_EQ(fs::last_write_time(folder / "run/results.json"), time) << "evaluated twice";
  EXPECT_EQ(*again->loss, *outcome->loss);

  fs::remove(folder / "run/items.jsonl");  // as an older build leaves a run
  run_experiment(experiment, log);
  EXPECT_TRUE(fs::exists(folder / "run/items.jsonl"));

  // A further task is evaluated and added. A smaller limit finds everything done, a larger one does not.
  experiment.tasks.push_back("gsm8k");
  experiment.limit = 1;
  EXPECT_EQ(run_experiment(experiment, log)->scores.at(2).items, 1);
  const auto items = [&](const char* task) {
    return read_json(folder / "run/results.json")["results"][task]["sample_len"].get<int>();
  };
  EXPECT_EQ(items("hellaswag"), 6);
  experiment.limit = 0;
  EXPECT_EQ(run_experiment(experiment, log)->scores.at(2).items, 2);
  EXPECT_EQ(items("hellaswag"), 6);
}

}  // namespace
}  // namespace crope::study
