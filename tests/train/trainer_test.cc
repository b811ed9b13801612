#include "crope/train/trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/model/model_dir.h"
#include "crope/run/run_dir.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

std::string latest_file(const fs::path& run, const char* name) {
  return read_file(run / run::kLatestLink / name);
}

// The lines of metrics.jsonl without what a clock says.
std::vector<Json> metrics(const fs::path& run) {
  std::vector<Json> lines;
  std::ifstream file(run / run::kMetricsFile);
  for (std::string line; std::getline(file, line);) {
    Json json = parse_json(line, "metrics");
    json.erase("elapsed_s");
    json.erase("tokens_per_second");
    lines.push_back(std::move(json));
  }
  return lines;
}

void expect_same_run(const fs::path& one, const fs::path& other) {
  EXPECT_EQ(metrics(one), metrics(other));
  for (const char* name : {"model.safetensors", "train_state.safetensors"}) {
    EXPECT_EQ(latest_file(one, name), latest_file(other, name)) << name;
  }
}

class Training : public testing::TestWithParam<const char*> {
 protected:
  TinyRun tiny_;
};

TEST_P(Training, GoesOnBitForBitFromAnyCheckpoint) {
  const Settings variant = {{"variant", GetParam()}, {"keep_checkpoints", 0}};
  const TrainSummary whole = tiny_.run("whole", variant);
  EXPECT_TRUE(whole.finished);
  EXPECT_EQ(whole.step, 12);
  EXPECT_EQ(run::list_checkpoints(tiny_.path("whole")).size(), 3u);

  // A run of which everything after step 4 is lost: the link is put back, later files are still there.
  fs::copy(tiny_.path("whole"), tiny_.path("cut"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  run::link_checkpoint(tiny_.path("cut"), run::kLatestLink, 4);
  tiny_.run("cut", variant);
  expect_same_run(tiny_.path("whole"), tiny_.path("cut"));
}

INSTANTIATE_TEST_SUITE_P(Variants, Training, testing::Values("rope", "crope_all", "half_rope_qk"),
                         [](const auto& info) { return std::string(info.param); });

class Trainer : public testing::Test {
 protected:
  TinyRun tiny_;
};

TEST_F(Trainer, LearnsAndWritesTheFieldsThatScriptsRead) {
  const TrainSummary summary = tiny_.run("run", {{"steps", 60}});
  const std::vector<Json> lines = metrics(tiny_.path("run"));
  ASSERT_EQ(lines.size(), 60u + 15u);
  EXPECT_EQ(lines[0]["step"], 1);
  EXPECT_EQ(lines[0]["tokens"], 32);
  EXPECT_NEAR(lines[0]["lr"].get<double>(), 0.005, 1e-12);
  EXPECT_NEAR(lines[0]["loss"].get<double>(), std::log(50.0), 0.3);
  EXPECT_TRUE(lines[0].contains("grad_norm"));
  EXPECT_EQ(lines[4]["step"], 4);
  EXPECT_TRUE(lines[4].contains("val_loss"));
  EXPECT_LT(*summary.loss, 3.0) << "it began at 3.9";
  EXPECT_NEAR(summary.validation->loss, *summary.loss, 0.6);
  EXPECT_FALSE(summary.validation->bits_per_byte) << "nothing says how many bytes a token has";
  // A run directory is a model directory.
  Log log(nullptr);
  EXPECT_EQ(model::load_model(tiny_.path("run"), log).config.d_model, 16);
  const Json record = read_json(tiny_.path("run") / run::kRecordFile);
  EXPECT_EQ(record["model"]["variant"], "rope");
  EXPECT_EQ(record["train"]["steps"], 60);
  EXPECT_EQ(record["version"], "test");
}

TEST_F(Trainer, AFinishedRunStaysAndMoreStepsExtendIt) {
  tiny_.run("run");
  const std::string before = latest_file(tiny_.path("run"), "model.safetensors");
  const TrainSummary again = tiny_.run("run");
  EXPECT_TRUE(again.finished);
  EXPECT_FALSE(again.loss);
  EXPECT_EQ(latest_file(tiny_.path("run"), "model.safetensors"), before);
  EXPECT_EQ(tiny_.run("run", {{"steps", 14}}).step, 14);
  EXPECT_EQ(metrics(tiny_.path("run")).size(), 14u + 4u);
  EXPECT_EQ(read_json(tiny_.path("run") / run::kRecordFile)["train"]["steps"], 14);
}

TEST_F(Trainer, KeepsTheNewestAndTheBest) {
  tiny_.run("run", {{"steps", 40}, {"keep_checkpoints", 2}});
  const std::vector<run::Checkpoint> left = run::list_checkpoints(tiny_.path("run"));
  ASSERT_GE(left.size(), 2u);
  EXPECT_LE(left.size(), 3u);
  EXPECT_EQ(left[left.size() - 2].step, 36);
  EXPECT_EQ(left.back().step, 40);
  EXPECT_TRUE(fs::exists(tiny_.path("run") / run::kBestLink / "model.safetensors"));
}

TEST_F(Trainer, WithoutCheckpointsTheLastStepIsSaved) {
  tiny_.run("run", {{"checkpoint_every", 0}, {"validate_every", 0}});
  ASSERT_EQ(run::list_checkpoints(tiny_.path("run")).size(), 1u);
  EXPECT_EQ(run::list_checkpoints(tiny_.path("run"))[0].step, 12);
  EXPECT_EQ(metrics(tiny_.path("run")).size(), 12u);
}

TEST_F(Trainer, ASignalEndsItWithACheckpointAndTheRunGoesOn) {
  const Settings settings = {{"steps", 300}, {"checkpoint_every", 0}, {"validate_every", 0}};
  tiny_.run("whole", settings);
  {
    const InterruptScope scope;
    std::thread sender([&] {
      const fs::path file = tiny_.path("run") / run::kMetricsFile;
      std::error_code code;
      while (!fs::exists(file) || fs::file_size(file, code) < 1000) std::this_thread::yield();
      std::raise(SIGTERM);
    });
    const TrainSummary stopped = tiny_.run("run", settings);
    sender.join();
    EXPECT_FALSE(stopped.finished);
    EXPECT_GT(stopped.step, 0);
    ASSERT_EQ(run::list_checkpoints(tiny_.path("run")).size(), 1u);
    EXPECT_EQ(run::list_checkpoints(tiny_.path("run"))[0].step, stopped.step);
  }
  tiny_.run("run", settings);
  expect_same_run(tiny_.path("whole"), tiny_.path("run"));
}

TEST_F(Trainer, ADamagedNewestCheckpointGivesWayToTheOneBefore) {
  tiny_.run("whole", {{"keep_checkpoints", 0}});
  for (const char* name : {"model.safetensors", "train_state.safetensors", "train_state.json", "config.json"}) {
    const fs::path run = tiny_.path(std::string("damaged_") + name);
    fs::copy(tiny_.path("whole"), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const fs::path file = run / run::kLatestLink / name;
    std::string bytes = read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x40);
    write_file(file, bytes);
    train(resolve_job(tiny_.request(run.filename().string(), {{"keep_checkpoints", 0}})), tiny_.log);
    expect_same_run(tiny_.path("whole"), run);
  }
}

// It says nothing against the checkpoint: no older one is taken.
TEST_F(Trainer, ASignalWhileACheckpointIsLoadedLeavesTheRunAsItIs) {
  tiny_.run("run", {{"steps", 8}});
  fs::copy(tiny_.path("run"), tiny_.path("other"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  {
    const InterruptScope scope;
    ::raise(SIGTERM);
    EXPECT_THROW(tiny_.run("run"), Interrupted);
  }
  expect_same_run(tiny_.path("other"), tiny_.path("run"));
  tiny_.run("run");
  tiny_.run("other");
  expect_same_run(tiny_.path("other"), tiny_.path("run"));
}

TEST_F(Trainer, ABestLinkThatWasNotMovedInTimeIsMended) {
  tiny_.run("run", {{"keep_checkpoints", 0}});
  const fs::path link = tiny_.path("run") / run::kBestLink, best = fs::read_symlink(link);
  run::link_checkpoint(tiny_.path("run"), run::kBestLink, 4);
  ASSERT_NE(fs::read_symlink(link), best);
  tiny_.run("run", {{"keep_checkpoints", 0}});
  EXPECT_EQ(fs::read_symlink(link), best);
}

TEST_F(Trainer, WhenEveryCheckpointIsDamagedNothingIsBegunAgain) {
  tiny_.run("run", {{"keep_checkpoints", 0}});
  const std::string metrics = read_file(tiny_.path("run") / run::kMetricsFile);
  const auto checkpoints = run::list_checkpoints(tiny_.path("run"));
  for (const run::Checkpoint& each : checkpoints) write_file(each.path / "train_state.json", "damaged");
  EXPECT_THROW(tiny_.run("run", {{"keep_checkpoints", 0}}), Error);
  EXPECT_EQ(read_file(tiny_.path("run") / run::kMetricsFile), metrics);
  EXPECT_EQ(run::list_checkpoints(tiny_.path("run")).size(), checkpoints.size());
}

TEST_F(Trainer, ALossThatIsNotFiniteStopsAndNamesTheLastCheckpoint) {
  tiny_.run("start");
  model::Transformer model = model::load_model(tiny_.path("start"), tiny_.log);
  model.norm.fill_(INFINITY);
  model::save_model(model, tiny_.path("poisoned"));
  JobRequest request = tiny_.request("run");
  for (const char* shape : {"vocab_size", "num_layers", "num_heads", "d_model", "d_ff"}) request.given.erase(shape);
  request.init_from = tiny_.path("poisoned");
  try {
    train(resolve_job(request), tiny_.log);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("step 1: the loss is"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("no checkpoint yet"), std::string::npos) << e.hint();
  }
  const std::vector<Json> lines = metrics(tiny_.path("run"));
  ASSERT_EQ(lines.size(), 1u) << "the step that diverged is logged";
  EXPECT_EQ(lines[0]["step"], 1);
  EXPECT_EQ(lines[0]["loss"], nullptr);
  EXPECT_THROW(train(resolve_job(request), tiny_.log), Error);
  EXPECT_EQ(metrics(tiny_.path("run")).size(), 1u) << "a run that resumes drops the line and writes it again";
}

TEST_F(Trainer, TwoProcessesDoNotTrainOneRun) {
  const TrainJob job = resolve_job(tiny_.request("run"));
  fs::create_directories(job.run);
  const DirectoryLock other(job.run, "trains");
  EXPECT_THROW(train(job, tiny_.log), Error);
}

// Steps whose line of metrics has the key.
std::vector<int> steps_with(const fs::path& run, const std::string& key) {
  std::vector<int> steps;
  for (const Json& line : metrics(run)) {
    if (line.contains(key)) steps.push_back(line["step"]);
  }
  return steps;
}

TEST_F(Trainer, ValidatesMoreOftenInItsFinalPhase) {
  tiny_.run("run", {{"steps", 21}, {"validate_every", 6}, {"validate_final_steps", 8}, {"validate_final_every", 3}});
  EXPECT_EQ(steps_with(tiny_.path("run"), "val_loss"), (std::vector{6, 12, 15, 18, 21}));
  tiny_.run("plain", {{"steps", 21}, {"validate_every", 6}});
  EXPECT_EQ(steps_with(tiny_.path("plain"), "val_loss"), (std::vector{6, 12, 18, 21}));
}

class OtherTexts : public Trainer {
 protected:
  void SetUp() override {
    for (const char* name : {"near", "far"}) fs::create_directory(tiny_.path(name));
    write_shard(tiny_.path("near") / "train_000000.bin", 500, 7);
    write_shard(tiny_.path("near") / "val_000000.bin", 90, 8);
    write_shard(tiny_.path("far") / "train_000000.bin", 100, 9);
  }

  JobRequest request(const std::string& run, const Settings& settings = Json::object()) {
    JobRequest request = tiny_.request(run, settings);
    request.validate_also = {{"near", tiny_.path("near")}, {"far", tiny_.path("far")}};
    return request;
  }

  // The loss of the finished run on all rows of one file.
  double loss_on(const std::string& run, const fs::path& shard) {
    const model::Transformer model = model::load_model(tiny_.path(run), tiny_.log);
    const data::TokenRows rows(std::vector{shard}, 8, 50);
    std::vector<std::int64_t> ids = rows.read_range(0, rows.size());
    const at::NoGradGuard no_grad;
    return model::loss(model, at::from_blob(ids.data(), {static_cast<std::int64_t>(rows.size()), 9}, at::kLong))
        .item<double>();
  }
};

TEST_F(OtherTexts, AreScoredAfterTheLastStepOnly) {
  const TrainSummary summary = train(resolve_job(request("run", {{"validation_rows", 0}})), tiny_.log);
  EXPECT_EQ(steps_with(tiny_.path("run"), "val_loss"), (std::vector{4, 8, 12}));
  EXPECT_EQ(steps_with(tiny_.path("run"), "val_loss_near"), std::vector{12});
  EXPECT_EQ(steps_with(tiny_.path("run"), "val_loss_far"), std::vector{12});
  const Json line = metrics(tiny_.path("run")).back();
  EXPECT_TRUE(line.contains("val_loss")) << "one line holds all of them";
  // A text is scored on its validation part, or on its training part if it has no other.
  EXPECT_NEAR(line["val_loss_near"].get<double>(), loss_on("run", tiny_.path("near") / "val_000000.bin"), 1e-5);
  EXPECT_NEAR(line["val_loss_far"].get<double>(), loss_on("run", tiny_.path("far") / "train_000000.bin"), 1e-5);
  ASSERT_EQ(summary.other_losses.size(), 2u);
  EXPECT_EQ(summary.other_losses[0].first, "near");
  EXPECT_EQ(summary.other_losses[0].second, line["val_loss_near"].get<double>());
  // They change nothing else of the run.
  tiny_.run("plain", {{"validation_rows", 0}});
  EXPECT_EQ(latest_file(tiny_.path("run"), "model.safetensors"), latest_file(tiny_.path("plain"), "model.safetensors"));
}

TEST_F(OtherTexts, AreScoredWhereTheDataHasNoValidationPart) {
  fs::remove(tiny_.data() / "val_000000.bin");
  train(resolve_job(request("run")), tiny_.log);
  EXPECT_EQ(steps_with(tiny_.path("run"), "val_loss"), std::vector<int>{});
  EXPECT_EQ(steps_with(tiny_.path("run"), "val_loss_far"), std::vector{12});
}

TEST_F(OtherTexts, OfAStoppedRunAreScoredWhenItIsResumed) {
  train(resolve_job(request("whole", {{"keep_checkpoints", 0}})), tiny_.log);
  fs::copy(tiny_.path("whole"), tiny_.path("cut"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  run::link_checkpoint(tiny_.path("cut"), run::kLatestLink, 4);
  tiny_.run("cut", {{"keep_checkpoints", 0}});  // does not name the texts again
  expect_same_run(tiny_.path("whole"), tiny_.path("cut"));
}

TEST_F(OtherTexts, WithIdsOutsideTheVocabularyAreRefusedAtTheStart) {
  const std::vector<std::int32_t> ids(100, 50);
  formats::TokenShardWriter writer(tiny_.path("far") / "train_000000.bin", formats::TokenWidth::u16);
  writer.append(ids);
  writer.commit();
  EXPECT_THROW(train(resolve_job(request("run")), tiny_.log), Error);
  EXPECT_FALSE(fs::exists(tiny_.path("run") / run::kMetricsFile)) << "nothing has been trained";
}

TEST_F(OtherTexts, ThatHaveChangedAreRefused) {
  train(resolve_job(request("run", {{"steps", 4}})), tiny_.log);
  write_shard(tiny_.path("far") / "train_000000.bin", 100, 10);
  const std::string before = read_file(tiny_.path("run") / run::kMetricsFile);
  try {
    tiny_.run("run", {{"steps", 8}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("validate_also far: " + tiny_.path("far").string() +
                                         " holds another text than the run started with"),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(read_file(tiny_.path("run") / run::kMetricsFile), before);
}

TEST_F(Trainer, OtherDataIsRefused) {
  tiny_.run("run", {{"steps", 4}});
  write_shard(tiny_.data() / "train_000000.bin", 4000, 9);
  try {
    tiny_.run("run", {{"steps", 8}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("started on other data"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace crope::train
