#include "crope/train/train_config.h"

#include <gtest/gtest.h>

#include <functional>

#include "crope/base/error.h"

namespace crope::train {
namespace {

TEST(TrainConfig, DefaultsAreThePapers) {
  const TrainConfig config;
  EXPECT_NO_THROW(validate(config));
  EXPECT_EQ(schedule_of(config).steps, 30'000);
  EXPECT_EQ(learning_rate(schedule_of(config), 49), 2e-3);
  EXPECT_EQ(optimizer_options(config).muon.lr_adjustment, optim::LrAdjustment::match_rms_adamw);
  EXPECT_EQ(optimizer_options(config).tied_pairs, TiedPairs::complex);
  EXPECT_EQ(optimizer_options(config).muon.iteration_type, torch::kFloat32);
}

TEST(TrainConfig, ImpossibleValuesNameTheirField) {
  const std::vector<std::pair<const char*, std::function<void(TrainConfig&)>>> cases = {
      {"steps", [](TrainConfig& c) { c.steps = 0; }},
      {"batch_size", [](TrainConfig& c) { c.batch_size = -1; }},
      {"seq_len", [](TrainConfig& c) { c.seq_len = 0; }},
      {"momentum", [](TrainConfig& c) { c.momentum = 1; }},
      {"weight_decay", [](TrainConfig& c) { c.weight_decay = -0.1; }},
      {"grad_clip", [](TrainConfig& c) { c.grad_clip = NAN; }},
      {"lr", [](TrainConfig& c) { c.lr = -1; }},
      {"muon_precision", [](TrainConfig& c) { c.muon_precision = Precision::automatic; }},
      {"device", [](TrainConfig& c) { c.device = "gpu"; }},
  };
  for (const auto& [field, spoil] : cases) {
    TrainConfig config;
    spoil(config);
    try {
      validate(config);
      ADD_FAILURE() << field;
    } catch (const UsageError& e) {
      EXPECT_NE((std::string(e.what()) + e.hint()).find(field), std::string::npos) << field << ": " << e.what();
    }
  }
}

TEST(TrainConfig, PrecisionIsChosenOnlyWhereItIsLeftOpen) {
  EXPECT_EQ(resolve_precision(Precision::fp32, "cpu"), Precision::fp32);
  EXPECT_EQ(resolve_precision(Precision::bf16, "cpu"), Precision::bf16);
  EXPECT_EQ(resolve_precision(Precision::automatic, "cpu"), Precision::fp32);
}

TEST(Settings, GoInAndComeOutAgain) {
  model::ModelConfig model;
  TrainConfig config;
  apply_settings({{"num_layers", 3}, {"variant", "crope_qk"}, {"lr", 1}, {"schedule", "wsd"}}, model, config, "x");
  EXPECT_EQ(model.num_layers, 3);
  EXPECT_EQ(config.lr, 1.0);
  const Settings all = settings_of(model, config);
  EXPECT_EQ(all["variant"], "crope_qk");
  EXPECT_EQ(all["schedule"], "wsd");
  model::ModelConfig second_model;
  TrainConfig second;
  apply_settings(all, second_model, second, "x");
  EXPECT_EQ(settings_of(second_model, second), all);
}

TEST(Settings, RopeScalingIsOneOfThem) {
  model::ModelConfig model;
  TrainConfig config;
  const Json yarn = {{"rope_type", "yarn"}, {"factor", 4}};
  apply_settings({{"rope_scaling", yarn}}, model, config, "x");
  EXPECT_EQ(model.rope_scaling.type, ops::RopeStretch::yarn);
  EXPECT_EQ(model.rope_scaling.factor, 4);
  const Settings all = settings_of(model, config);
  EXPECT_EQ(conflicts(all, {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 4}}}}).size(), 1u);
  EXPECT_TRUE(conflicts(all, {{"rope_scaling", all["rope_scaling"]}}).empty());
  Settings earlier = settings_of({}, {});
  EXPECT_TRUE(conflicts(earlier, {{"rope_scaling", {{"rope_type", "default"}}}}).empty());
  earlier.erase("rope_scaling");
  EXPECT_TRUE(conflicts(earlier, {{"rope_scaling", {{"rope_type", "default"}}}}).empty());
  EXPECT_EQ(conflicts(earlier, {{"rope_scaling", yarn}}).size(), 1u);
  EXPECT_THROW(apply_settings({{"rope_scaling", {{"rope_type", "bent"}}}}, model, config, "x"), Error);
}

TEST(Settings, MistakesAreNamed) {
  model::ModelConfig model;
  TrainConfig config;
  const auto message = [&](const Settings& given) -> std::string {
    try {
      apply_settings(given, model, config, "recipe");
    } catch (const Error& e) {
      return std::string(e.what()) + " " + e.hint();
    }
    return "";
  };
  EXPECT_NE(message({{"num_layer", 3}}).find("num_layers"), std::string::npos);
  EXPECT_NE(message({{"steps", 1.5}}).find("steps: expected a whole number, found 1.5"), std::string::npos);
  EXPECT_NE(message({{"steps", "many"}}).find("steps"), std::string::npos);
  EXPECT_NE(message({{"lr", nullptr}}).find("lr: expected a number"), std::string::npos);
  EXPECT_NE(message({{"schedule", 3}}).find("schedule: expected a string"), std::string::npos);
  EXPECT_EQ(message({{"schedule", "cosin"}}),
            "recipe: schedule: expected cosine, constant or wsd, found 'cosin' did you mean 'cosine'?");
  EXPECT_NE(message({{"muon_tied", "complx"}}).find("expected complex or separate"), std::string::npos);
  EXPECT_NE(message({{"precision", "fp16"}}).find("expected auto, fp32 or bf16"), std::string::npos);
  EXPECT_NE(message({{"data_order", "random"}}).find("expected sequential or shuffled"), std::string::npos);
}

TEST(Settings, OnlyWhatMakesAnotherRunConflicts) {
  const Settings recorded = settings_of({}, {});
  EXPECT_TRUE(conflicts(recorded, {{"lr", 2e-3}, {"steps", 7}, {"threads", 1}, {"num_layers", 16.0}}).empty());
  const auto found = conflicts(recorded, {{"lr", 1e-3}, {"d_model", 64}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], "lr: recorded 0.002, given 0.001");
}

}  // namespace
}  // namespace crope::train
