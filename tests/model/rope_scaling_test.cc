#include "crope/model/rope_scaling.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/model/config.h"

namespace crope::model {
namespace {

std::string refusal(const Json& json) {
  try {
    rope_scaling_from_json(json, "c.json: rope_scaling");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(RopeScalingJson, RoundTrips) {
  for (const Json& json : std::vector<Json>{
           {{"rope_type", "linear"}, {"factor", 2.0}},
           {{"rope_type", "dynamic"}, {"factor", 2.0}, {"original_max_position_embeddings", 128}},
           {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32}, {"beta_fast", 16.0}},
           {{"rope_type", "yarn"}, {"factor", 4.0}, {"attention_factor", 1.25}, {"truncate", false}},
           {{"rope_type", "llama3"},
            {"factor", 8.0},
            {"original_max_position_embeddings", 8192},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0}}}) {
    EXPECT_EQ(rope_scaling_to_json(rope_scaling_from_json(json, "test")), json);
    Json config = config_to_json(ModelConfig{});
    config["rope_scaling"] = json;
    EXPECT_EQ(config_to_json(config_from_json(config, "test")), config);
  }
}

TEST(RopeScalingJson, OlderSpellingsAndNulls) {
  EXPECT_EQ(rope_scaling_from_json({{"type", "linear"}, {"factor", 3}}, "test").factor, 3);
  const Json nulls = {{"rope_type", "yarn"}, {"factor", 2.0}, {"attention_factor", nullptr}, {"beta_fast", nullptr}};
  EXPECT_EQ(rope_scaling_from_json(nulls, "test").beta_fast, 32);
  EXPECT_EQ(rope_scaling_from_json({{"rope_type", "default"}, {"rope_theta", 3.0}}, "test"), ops::RopeScaling{});
  Json config = config_to_json(ModelConfig{});
  config["rope_scaling"] = nullptr;
  EXPECT_FALSE(config_to_json(config_from_json(config, "test")).contains("rope_scaling"));
  // DeepSeek's two numbers give one.
  const Json two = {{"rope_type", "yarn"}, {"factor", 4.0}, {"mscale", 2.0}, {"mscale_all_dim", 1.0}};
  EXPECT_NEAR(rope_scaling_from_json(two, "test").attention_factor,
              (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1), 1e-12);
}

TEST(RopeScalingJson, WhatIsWrongIsNamed) {
  EXPECT_NE(refusal({{"rope_type", "longrope"}}).find("expected default, linear, dynamic, yarn or llama3"),
            std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "linear"}}).find("'factor' is missing"), std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "linear"}, {"factor", -1}}).find("factor = -1"), std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "linear"}, {"factor", "2"}}).find("factor"), std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "yarn"}, {"factor", 2}, {"surprise", 1}}).find("'surprise'"), std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "llama3"}, {"factor", 2}}).find("low_freq_factor"), std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 1}})
                .find("high_freq_factor = 1 is not above"),
            std::string::npos);
  EXPECT_NE(refusal({{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}).find("partial_rotary_factor"),
            std::string::npos);
  EXPECT_NE(refusal(3).find("JSON object"), std::string::npos);
}

TEST(RopeScaling, FlagsNameTypeFactorAndLength) {
  const auto of = [](const char* text) { return rope_scaling_from_text(text, "--rope-scaling"); };
  EXPECT_EQ(of("none"), ops::RopeScaling{});
  EXPECT_EQ(of("linear:2.5").type, ops::RopeStretch::linear);
  EXPECT_EQ(of("linear:2.5").factor, 2.5);
  EXPECT_EQ(of("ntk:4").type, ops::RopeStretch::dynamic);
  EXPECT_EQ(of("yarn:4:512").original_length, 512);
  // What is written to config.json comes back.
  for (const char* text : {"linear:2", "ntk:4:64", "yarn:4:512", "llama3:8:8192"}) {
    EXPECT_EQ(rope_scaling_from_json(rope_scaling_to_json(of(text)), "x"), of(text)) << text;
  }
  for (const char* text : {"", "yarn", "yarn:", "yarn:x", "yarn:4:", "yarn:4:0", "yarn:4:-8", "yarn:-1", "yarn:4x",
                           "yarn:inf", "longrope:4", "default:2", ":4"}) {
    EXPECT_THROW(of(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace crope::model
