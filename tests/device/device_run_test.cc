// A whole run on the test device: training, validation, checkpoints, resuming.
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "crope/base/file.h"
#include "crope/model/model_dir.h"
#include "crope/run/run_dir.h"
#include "crope/train/train_state.h"
#include "crope/train/trainer.h"
#include "tests/device/test_device.h"
#include "tests/tensor_checks.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

// The lines of metrics.jsonl that have a number of this name.
std::vector<double> numbers(const fs::path& run, const char* name) {
  std::vector<double> found;
  std::ifstream file(run / run::kMetricsFile);
  for (std::string line; std::getline(file, line);) {
    const Json json = parse_json(line, "metrics");
    if (json.contains(name)) found.push_back(json[name].get<double>());
  }
  return found;
}

class RunOnTestDevice : public testing::TestWithParam<const char*> {
 protected:
  TrainSummary run(const std::string& name, const Settings& settings = Json::object()) {
    Settings all = {{"variant", GetParam()}, {"grad_clip", 1}, {"device", "cpu"}};
    all.update(settings);
    TrainJob job = resolve_job(tiny_.request(name, all));
    job.config.device = test::test_device().str();
    return train(job, tiny_.log);
  }
  std::string latest_file(const std::string& run, const char* name) const {
    return read_file(tiny_.path(run) / run::kLatestLink / name);
  }

  TinyRun tiny_;
};

TEST_P(RunOnTestDevice, LossesAreThoseOfTheCpu) {
  const TrainSummary on_device = run("device");
  tiny_.run("cpu", {{"variant", GetParam()}, {"grad_clip", 1}, {"device", "cpu"}});
  EXPECT_TRUE(on_device.finished);
  for (const char* name : {"loss", "grad_norm", "val_loss"}) {
    const auto found = numbers(tiny_.path("device"), name), expected = numbers(tiny_.path("cpu"), name);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_FALSE(found.empty());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-4 * expected[i]) << name << " " << i;
    }
  }
}

// Weights, optimiser and data go to the disk and come back: twelve steps are eight and four.
TEST_P(RunOnTestDevice, ACheckpointComesBackBitForBit) {
  for (const char* precision : {"fp32", "bf16"}) {
    const Settings settings = {{"precision", precision}, {"keep_checkpoints", 0}};
    const std::string whole = std::string("whole_") + precision, cut = std::string("cut_") + precision;
    run(whole, settings);
    fs::copy(tiny_.path(whole), tiny_.path(cut), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    run::link_checkpoint(tiny_.path(cut), run::kLatestLink, 8);
    run(cut, settings);
    EXPECT_EQ(numbers(tiny_.path(whole), "loss"), numbers(tiny_.path(cut), "loss"));
    for (const char* file : {"model.safetensors", "train_state.safetensors"}) {
      EXPECT_EQ(latest_file(whole, file), latest_file(cut, file)) << file;
    }
  }
}

TEST_P(RunOnTestDevice, TheSavedModelIsTheModel) {
  run("run");
  const fs::path dir = tiny_.path("run") / run::kLatestLink;
  const torch::TensorOptions there = torch::TensorOptions(test::test_device()).dtype(torch::kFloat32);
  const model::Transformer on_device = model::load_model(dir, tiny_.log, there);
  const model::Transformer on_cpu = model::load_model(dir, tiny_.log);
  for (std::size_t i = 0; i < on_cpu.parameters.size(); ++i) {
    EXPECT_EQ(on_device.parameters[i].value.device(), test::test_device());
    EXPECT_TRUE(at::equal(on_device.parameters[i].value.cpu(), on_cpu.parameters[i].value));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, RunOnTestDevice, testing::Values("rope", "crope_all"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace crope::train
