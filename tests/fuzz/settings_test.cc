// config.json and recipes of mutants: refused, or a model and a run that can exist.
#include <gtest/gtest.h>

#include <array>

#include "crope/base/file.h"
#include "crope/model/config.h"
#include "crope/model/parameters.h"
#include "crope/train/train_config.h"
#include "tests/fuzz/mutation.h"

namespace crope {
namespace {

constexpr std::array<std::string_view, 14> kSettingWords = {
    "\"vocab_size\"", "\"d_model\"", "\"num_heads\"", "\"variant\"", "rope", "crope_all", "half_rope_qk",
    "head_dim",       "qk_norm",     "true",          "{",           "}",    ",",         "-"};

TEST(Fuzz, ConfigJson) {
  const model::ModelConfig seed{.vocab_size = 512, .num_layers = 2, .num_heads = 2, .d_model = 32, .d_ff = 32};
  test::fuzz_text("config.json", model::config_to_json(seed).dump(), kSettingWords, [](const std::string& text) {
    const model::ModelConfig config = model::config_from_json(parse_json(text, "mutant"), "mutant");
    EXPECT_GT(model::count_parameters(config).total(), 0);
    const Json again = model::config_to_json(config);
    EXPECT_EQ(model::config_to_json(model::config_from_json(again, "written")), again);
  });
}

TEST(Fuzz, Recipe) {
  const std::string recipe = read_file(std::filesystem::path(CROPE_SOURCE_DIR) / "recipes" / "small_cpu.json");
  test::fuzz_text("recipe.json", recipe, kSettingWords, [](const std::string& text) {
    model::ModelConfig model;
    train::TrainConfig config;
    const Json settings = parse_json(text, "mutant");
    train::apply_settings(settings, model, config, "mutant");
    train::validate(config);
    model::validate(model);
    EXPECT_TRUE(train::conflicts(train::settings_of(model, config), settings).empty()) << text;
  });
}

}  // namespace
}  // namespace crope
