#include "crope/interop/hf_config.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::interop {
namespace {

std::string refusal(const Json& json) {
  try {
    read_hf_config(json, "hf/config.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(HfConfig, OursComesBack) {
  model::ModelConfig config;
  config.variant = model::Variant::crope_all;
  const Json json = hf_config_from(config, "float32", {.end_of_text = 50256});
  EXPECT_EQ(json["eos_token_id"], 50256);
  EXPECT_EQ(json["rope_parameters"]["rope_theta"], 5000.0);
  EXPECT_TRUE(json["rope_theta"].is_number_float());
  const model::ModelConfig back = read_hf_config(json, "test");
  EXPECT_EQ(back.d_model, 1024);
  EXPECT_EQ(back.head_dim, 0);
  EXPECT_EQ(back.norm_eps, 1e-6);
  EXPECT_TRUE(back.tie_embeddings);
}

TEST(HfConfig, HalfWidthHeadsAreTheirHeadDim) {
  model::ModelConfig config;
  config.variant = model::Variant::half_rope_all;
  EXPECT_EQ(hf_config_from(config, "float32", {})["head_dim"], 64);
  config.variant = model::Variant::half_rope_qk;
  EXPECT_EQ(hf_config_from(config, "float32", {})["head_dim"], 128);
  config.qk_norm = false;
  EXPECT_THROW(hf_config_from(config, "float32", {}), Error) << "Llama has one width";
  config.variant = model::Variant::rope;
  EXPECT_EQ(hf_config_from(config, "float32", {})["model_type"], "llama");
}

TEST(HfConfig, WhatCannotBeHeldIsRefusedByName) {
  const Json good = hf_config_from(model::ModelConfig{}, "float32", {});
  EXPECT_EQ(refusal(good), "");
  const std::pair<const char*, Json> changes[] = {
      {"model_type", "gpt2"},
      {"attention_bias", true},
      {"mlp_bias", true},
      {"use_sliding_window", true},
      {"layer_types", {"full_attention", "sliding_attention"}},
      {"hidden_act", "gelu"},
      {"rope_scaling", {{"rope_type", "longrope"}, {"factor", 4}}},
      {"rope_parameters", {{"rope_type", "linear"}}},
      {"quantization_config", {{"bits", 4}}},
      {"partial_rotary_factor", 0.5},
      {"hidden_size", "x"},
      {"num_key_value_heads", 3},
      {"num_attention_heads", 0},
      {"vocab_size", -1},
      {"num_hidden_layers", 1.5},
  };
  for (const auto& [field, value] : changes) {
    Json json = good;
    json[field] = value;
    EXPECT_NE(refusal(json), "") << field;
    EXPECT_EQ(refusal(json).find("hf/config.json"), 0u);
  }
  Json scaled = good;
  scaled["rope_scaling"] = {{"type", "longrope"}, {"factor", 2.0}};
  EXPECT_NE(refusal(scaled).find("rope_scaling: type: expected default, linear, dynamic, yarn or llama3, found "
                                 "'longrope'"),
            std::string::npos)
      << refusal(scaled);
  EXPECT_NE(refusal(Json::array()), "");
}

TEST(HfConfig, LlamaDefaults) {
  const Json llama = {{"model_type", "llama"},    {"vocab_size", 32000},
                      {"hidden_size", 288},       {"intermediate_size", 768},
                      {"num_hidden_layers", 6},   {"num_attention_heads", 6},
                      {"num_key_value_heads", 2}, {"max_position_embeddings", 256},
                      {"rms_norm_eps", 1e-5}};
  const model::ModelConfig model = read_hf_config(llama, "test");
  EXPECT_FALSE(model.qk_norm);
  EXPECT_FALSE(model.tie_embeddings);
  EXPECT_EQ(model.rope_theta, 10'000);
  EXPECT_EQ(model.kv_heads(), 2);
}

}  // namespace
}  // namespace crope::interop
