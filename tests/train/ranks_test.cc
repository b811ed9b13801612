// Training by several ranks, which here are threads of one process.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <mutex>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/formats/safetensors.h"
#include "crope/run/run_dir.h"
#include "tests/dist/rank_threads.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

// The losses of training and of validation, by step.
std::vector<std::pair<std::int64_t, double>> losses(const fs::path& run) {
  std::vector<std::pair<std::int64_t, double>> found;
  std::ifstream file(run / run::kMetricsFile);
  for (std::string line; std::getline(file, line);) {
    const Json json = parse_json(line, "metrics");
    found.emplace_back(json.at("step").get<std::int64_t>(), json.value("loss", json.value("val_loss", NAN)));
  }
  return found;
}

void expect_close_runs(const fs::path& one, const fs::path& other) {
  const auto a = losses(one), b = losses(other);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_NEAR(a[i].second, b[i].second, 1e-4) << "step " << a[i].first;
  }
}

class Ranks : public testing::TestWithParam<const char*> {
 protected:
  // Trains the run with that many ranks and expects that none fails.
  TrainSummary train_with(int ranks, const std::string& name, Settings settings = Json::object()) {
    settings["variant"] = GetParam();
    settings["batch_size"] = 12;
    settings["d_model"] = 32;
    settings["num_layers"] = 2;
    std::mutex mutex;
    TrainSummary first;
    const auto messages = test::run_ranks(ranks, [&](const auto& group) {
      JobRequest request = tiny_.request(name, settings);
      request.launch = group->launch();
      Log silent(nullptr);
      const TrainSummary summary = train(resolve_job(request), silent, group);
      const std::lock_guard lock(mutex);
      if (group->is_first()) first = summary;
    });
    for (const std::string& message : messages) EXPECT_EQ(message, "");
    return first;
  }

  TinyRun tiny_;
};

TEST_P(Ranks, LearnAsOneDoes) {
  const TrainSummary one = train_with(1, "one");
  std::uint64_t fewer_hold = one.optimizer_bytes;
  for (const int ranks : {2, 3, 4}) {
    const std::string name = std::to_string(ranks);
    const TrainSummary several = train_with(ranks, name);
    expect_close_runs(tiny_.path("one"), tiny_.path(name));
    EXPECT_EQ(several.tokens, one.tokens);
    EXPECT_LT(several.optimizer_bytes, fewer_hold) << ranks;
    if (ranks == 2) {
      EXPECT_LE(several.optimizer_bytes * 100, one.optimizer_bytes * 55);
    }
    fewer_hold = several.optimizer_bytes;
  }
}

TEST_P(Ranks, LeaveTheSameFilesWhateverTheirNumber) {
  train_with(1, "one");
  train_with(3, "three");
  for (const char* name : {"model.safetensors", "train_state.safetensors"}) {
    const auto one = formats::SafetensorsFile::open(tiny_.path("one") / run::kLatestLink / name);
    const auto three = formats::SafetensorsFile::open(tiny_.path("three") / run::kLatestLink / name);
    ASSERT_EQ(one.tensors().size(), three.tensors().size());
    for (std::size_t i = 0; i < one.tensors().size(); ++i) {
      EXPECT_EQ(one.tensors()[i].name, three.tensors()[i].name);
      EXPECT_EQ(one.tensors()[i].shape, three.tensors()[i].shape);
    }
  }
}

TEST_P(Ranks, GoOnFromWhatAnotherNumberOfThemSaved) {
  train_with(1, "undisturbed", {{"keep_checkpoints", 0}});
  train_with(2, "saved_by_two", {{"keep_checkpoints", 0}});
  for (const int ranks : {1, 2, 3}) {
    const std::string name = "cut" + std::to_string(ranks);
    fs::copy(tiny_.path("saved_by_two"), tiny_.path(name),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    run::link_checkpoint(tiny_.path(name), run::kLatestLink, 4);
    const TrainSummary summary = train_with(ranks, name, {{"keep_checkpoints", 0}});
    EXPECT_TRUE(summary.finished);
    expect_close_runs(tiny_.path("undisturbed"), tiny_.path(name));
  }
  // With the same number, and one thread each, also the bits.
  EXPECT_EQ(read_file(tiny_.path("cut2") / run::kLatestLink / "model.safetensors"),
            read_file(tiny_.path("saved_by_two") / run::kLatestLink / "model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Variants, Ranks, testing::Values("rope", "crope_qk", "crope_all"),
                         [](const auto& info) { return std::string(info.param); });

class RankFaults : public testing::Test {
 protected:
  TinyRun tiny_;
};

TEST_F(RankFaults, ADamagedCheckpointIsPassedOverByAll) {
  const auto run = [&](int ranks) {
    return test::run_ranks(ranks, [&](const auto& group) {
      JobRequest request = tiny_.request("run", {{"keep_checkpoints", 0}});
      request.launch = group->launch();
      Log silent(nullptr);
      EXPECT_TRUE(train(resolve_job(request), silent, group).finished);
    });
  };
  EXPECT_EQ(run(2), (std::vector<std::string>{"", ""}));
  const std::string good = read_file(tiny_.path("run") / run::kLatestLink / "model.safetensors");
  write_file(run::checkpoint_path(tiny_.path("run"), 12) / "train_state.safetensors", "damaged");
  EXPECT_EQ(run(2), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(read_file(tiny_.path("run") / run::kLatestLink / "model.safetensors"), good);
}

TEST_F(RankFaults, ABatchThatCannotBeSharedIsAnErrorOfAll) {
  const auto messages = test::run_ranks(3, [&](const auto& group) {
    JobRequest request = tiny_.request("run");  // 4 rows
    request.launch = group->launch();
    Log silent(nullptr);
    train(resolve_job(request), silent, group);
  });
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("cannot be shared evenly by 3 ranks"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace crope::train
