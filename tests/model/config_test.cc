#include "crope/model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "crope/base/error.h"

namespace crope::model {
namespace {

std::string validation_error(const std::function<void(ModelConfig&)>& change) {
  ModelConfig config;
  change(config);
  try {
    validate(config);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Config, ThePaperIsPossible) {
  EXPECT_EQ(validation_error([](ModelConfig&) {}), "");
}

TEST(Config, ImpossibleModelsAreNamed) {
  const auto expect_named = [](const char* word, const std::function<void(ModelConfig&)>& change) {
    EXPECT_NE(validation_error(change).find(word), std::string::npos) << word << ": " << validation_error(change);
  };
  expect_named("vocab_size", [](ModelConfig& c) { c.vocab_size = 0; });
  expect_named("num_layers", [](ModelConfig& c) { c.num_layers = -1; });
  expect_named("num_layers", [](ModelConfig& c) { c.num_layers = std::int64_t{1} << 31, c.d_model = 16; });
  expect_named("d_ff", [](ModelConfig& c) { c.d_ff = 0; });
  expect_named("max_seq_len", [](ModelConfig& c) { c.max_seq_len = 0; });
  expect_named("rope_theta", [](ModelConfig& c) { c.rope_theta = 0; });
  expect_named("norm_eps", [](ModelConfig& c) { c.norm_eps = NAN; });
  expect_named("num_heads = 7", [](ModelConfig& c) { c.num_heads = 7; });
  expect_named("num_heads", [](ModelConfig& c) { c.num_heads = 1024; });
  expect_named("half_rope_qk", [](ModelConfig& c) { c.d_model = 6 * 8, c.variant = Variant::half_rope_qk; });
  expect_named("num_heads = 3000", [](ModelConfig& c) { c.num_heads = 3000; });
  expect_named("2^46", [](ModelConfig& c) { c.d_model = std::int64_t{1} << 30; });
  expect_named("d_model", [](ModelConfig& c) { c.d_model = std::int64_t{1} << 60; });
}

TEST(Config, JsonRoundTripKeepsUnknownKeys) {
  const Json json = parse_json(R"({"vocab_size":97,"num_layers":2,"num_heads":4,"d_model":32,"d_ff":48,
      "rope_theta":5000.0,"norm_eps":1e-06,"max_seq_len":64,"variant":"crope_qk","note":{"from":"elsewhere"}})",
                               "test");
  EXPECT_EQ(config_to_json(config_from_json(json, "test")), json);
}

TEST(Config, BadFieldsAreNamedWithTheirFile) {
  const Json good = config_to_json(ModelConfig{});
  const auto message_of = [](const Json& json) {
    try {
      config_from_json(json, "dir/config.json");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message_of(good), "");
  for (const auto& [key, value] : good.items()) {
    Json missing = good, wrong = good;
    missing.erase(key);
    wrong[key] = Json::array();
    EXPECT_NE(message_of(missing).find(key), std::string::npos) << message_of(missing);
    EXPECT_NE(message_of(wrong).find(key), std::string::npos) << message_of(wrong);
    EXPECT_EQ(message_of(wrong).find("dir/config.json"), 0u);
  }
  Json fractional = good, huge = good;
  fractional["d_model"] = 1.5;
  huge["d_model"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_NE(message_of(fractional).find("whole number"), std::string::npos);
  EXPECT_NE(message_of(huge).find("whole number"), std::string::npos);
  EXPECT_NE(message_of(Json::array()).find("object"), std::string::npos);
}

TEST(Config, WidthsFollowTheVariant) {
  ModelConfig config;
  EXPECT_EQ(config.qk_width(), 128);
  config.variant = Variant::half_rope_qk;
  EXPECT_EQ(config.qk_width(), 64);
  EXPECT_EQ(config.v_width(), 128);
  config.variant = Variant::half_rope_all;
  EXPECT_EQ(config.v_width(), 64);
}

TEST(Config, AHuggingFaceModelIsRecognised) {
  try {
    config_from_json({{"architectures", {"LlamaForCausalLM"}}, {"vocab_size", 32}, {"hidden_size", 64}}, "config.json");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find("crope import"), std::string::npos) << e.hint();
  }
}

}  // namespace
}  // namespace crope::model
