// Runs whose conjugate-linear parts fade out.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <mutex>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/run/run_dir.h"
#include "tests/dist/rank_threads.h"
#include "tests/tensor_checks.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

class Annealing : public testing::Test {
 protected:
  Annealing() {
    model::ModelConfig config{.vocab_size = 50, .num_layers = 2, .num_heads = 4, .d_model = 16, .d_ff = 16};
    config.max_seq_len = 8;
    config.variant = model::Variant::crope_all;
    config.num_kv_heads = 2;
    config.conjugate_scale = 1;
    model::save_model(model::make_random_transformer(config), tiny_.path("start"));
  }

  JobRequest request(const std::string& run, Settings settings) {
    settings["lr"] = 0.01;
    JobRequest made = tiny_.request(run, settings);
    for (const char* field : {"vocab_size", "num_layers", "num_heads", "d_model", "d_ff"}) made.given.erase(field);
    made.init_from = tiny_.path("start");
    return made;
  }

  TrainSummary anneal(const std::string& run, const Settings& settings) {
    return train(resolve_job(request(run, settings)), tiny_.log);
  }

  model::ModelConfig config_at(const std::string& run, std::int64_t step) {
    return model::load_config(run::checkpoint_path(tiny_.path(run), step));
  }

  std::string refusal(const JobRequest& request) {
    try {
      resolve_job(request);
    } catch (const Error& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return "accepted";
  }

  TinyRun tiny_;
};

// What the run leaves, without times.
std::string traces(const fs::path& run) {
  std::string all = read_file(run / run::kLatestLink / "model.safetensors") +
                    read_file(run / run::kLatestLink / "train_state.safetensors");
  std::ifstream file(run / run::kMetricsFile);
  for (std::string line; std::getline(file, line);) {
    Json json = parse_json(line, "metrics");
    json.erase("elapsed_s");
    json.erase("tokens_per_second");
    all += json.dump();
  }
  return all;
}

TEST_F(Annealing, EndsAsATiedModel) {
  const Settings settings = {{"conjugate_steps", 6}, {"keep_checkpoints", 0}, {"checkpoint_every", 2}};
  const TrainSummary summary = anneal("run", settings);
  EXPECT_TRUE(summary.finished);
  EXPECT_NEAR(*config_at("run", 2).conjugate_scale, 4.0 / 6, 1e-15);
  EXPECT_NEAR(*config_at("run", 4).conjugate_scale, 2.0 / 6, 1e-15);
  EXPECT_FALSE(config_at("run", 6).conjugate_scale);
  const model::Transformer last = model::load_model(tiny_.path("run"), tiny_.log);
  for (const model::Parameter& parameter : last.parameters) {
    EXPECT_FALSE(model::is_conjugate(parameter.spec.name)) << parameter.spec.name;
  }
  EXPECT_EQ(summary.parameters, model::count_parameters(last.config).total());
  const Json record = read_json(tiny_.path("run") / run::kRecordFile);
  EXPECT_FALSE(record["model"].contains("conjugate_scale"));
  EXPECT_EQ(record["parameters"]["total"], summary.parameters);

  std::vector<double> scales;
  std::ifstream file(tiny_.path("run") / run::kMetricsFile);
  for (std::string line; std::getline(file, line);) {
    const Json json = parse_json(line, "metrics");
    if (json.contains("conjugate_scale")) scales.push_back(json["conjugate_scale"]);
  }
  ASSERT_EQ(scales.size(), 6u) << "one a step, as the step's gradient saw it";
  EXPECT_EQ(scales[0], 1);
  EXPECT_NEAR(scales[5], 1.0 / 6, 1e-15);
}

TEST_F(Annealing, ContinuesBitForBitFromAnyCheckpoint) {
  const Settings settings = {{"conjugate_steps", 7}, {"keep_checkpoints", 0}, {"checkpoint_every", 2}};
  anneal("whole", settings);
  for (const std::int64_t step : {2, 6, 7, 8}) {
    const std::string name = "cut" + std::to_string(step);
    fs::copy(tiny_.path("whole"), tiny_.path(name), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    run::link_checkpoint(tiny_.path(name), run::kLatestLink, step);
    anneal(name, settings);
    EXPECT_TRUE(traces(tiny_.path(name)) == traces(tiny_.path("whole"))) << "from step " << step;
  }
}

TEST_F(Annealing, AnUnfinishedOneIsExtended) {
  anneal("run", {{"conjugate_steps", 20}, {"schedule", "constant"}});
  EXPECT_NEAR(*model::load_model(tiny_.path("run"), tiny_.log).config.conjugate_scale, 8.0 / 20, 1e-15);
  anneal("run", {{"conjugate_steps", 20}, {"schedule", "constant"}, {"steps", 20}});
  EXPECT_FALSE(model::load_model(tiny_.path("run"), tiny_.log).config.conjugate_scale);
}

TEST_F(Annealing, WithoutStepsTheScaleStays) {
  anneal("run", {{"steps", 3}});
  EXPECT_EQ(model::load_model(tiny_.path("run"), tiny_.log).config.conjugate_scale, 1);
}

TEST_F(Annealing, RanksAgree) {
  const Settings settings = {{"conjugate_steps", 5}, {"batch_size", 12}};
  anneal("one", settings);
  for (const std::string& message : test::run_ranks(3, [&](const auto& group) {
         JobRequest asked = request("three", settings);
         asked.launch = group->launch();
         Log silent(nullptr);
         train(resolve_job(asked), silent, group);
       })) {
    EXPECT_EQ(message, "");
  }
  const model::Transformer one = model::load_model(tiny_.path("one"), tiny_.log);
  const model::Transformer three = model::load_model(tiny_.path("three"), tiny_.log);
  ASSERT_EQ(one.parameters.size(), three.parameters.size());
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    test::expect_close(three.parameters[i].value, one.parameters[i].value, 1e-3, one.parameters[i].spec.name);
  }
}

TEST_F(Annealing, NeedsAModelWithConjugateParts) {
  const std::string fresh = refusal(tiny_.request("run", {{"conjugate_steps", 5}}));
  EXPECT_NE(fresh.find("no conjugate-linear parts"), std::string::npos) << fresh;
  EXPECT_NE(fresh.find("method annealed"), std::string::npos) << fresh;
  EXPECT_EQ(refusal(request("run", {{"conjugate_steps", 5}})), "accepted");
}

}  // namespace
}  // namespace crope::train
