#include "crope/model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <vector>

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
  expect_named("num_heads must divide d_model (got 7 and 1024)", [](ModelConfig& c) { c.num_heads = 7; });
  expect_named("num_heads", [](ModelConfig& c) { c.num_heads = 1024; });
  expect_named("half_rope_qk", [](ModelConfig& c) { c.d_model = 6 * 8, c.variant = Variant::half_rope_qk; });
  expect_named("num_heads must divide d_model (got 3000 and 1024)", [](ModelConfig& c) { c.num_heads = 3000; });
  expect_named("2^46", [](ModelConfig& c) { c.d_model = std::int64_t{1} << 30; });
  expect_named("d_model", [](ModelConfig& c) { c.d_model = std::int64_t{1} << 60; });
}

TEST(Config, JsonRoundTripKeepsUnknownKeys) {
  const Json json = parse_json(R"({"vocab_size":97,"num_layers":2,"num_heads":4,"d_model":32,"d_ff":48,
      "rope_theta":5000.0,"norm_eps":1e-06,"max_seq_len":64,"variant":"crope_qk","note":{"from":"elsewhere"}})",
                               "test");
  EXPECT_EQ(config_to_json(config_from_json(json, "test")), json);
}

TEST(Config, OptionalFieldsAreWrittenOnlyWhereTheyDiffer) {
  const Json plain = config_to_json(ModelConfig{});
  for (const char* field : {"head_dim", "qk_gain", "norm_gain", "qk_norm", "tie_embeddings"}) {
    EXPECT_FALSE(plain.contains(field)) << field;
  }
  const ModelConfig absent = config_from_json(plain, "test");
  EXPECT_EQ(absent.head_dim, 0);
  EXPECT_EQ(absent.qk_gain, Gain::free);
  EXPECT_EQ(absent.norm_gain, Gain::free);
  Json explicit_defaults = plain;
  explicit_defaults.update({{"head_dim", 0}, {"qk_gain", "free"}, {"norm_gain", "free"}});
  EXPECT_EQ(config_to_json(config_from_json(explicit_defaults, "test")), plain);
}

TEST(Config, OptionalFieldsRoundTrip) {
  for (const Json& chosen : std::vector<Json>{{{"head_dim", 256}},
                                              {{"qk_gain", "pair"}},
                                              {{"qk_gain", "none"}},
                                              {{"norm_gain", "pair"}},
                                              {{"head_dim", 64}, {"qk_gain", "pair"}, {"norm_gain", "pair"}},
                                              {{"qk_norm", false}, {"tie_embeddings", false}}}) {
    Json json = config_to_json(ModelConfig{});
    json.update(chosen);
    const ModelConfig config = config_from_json(json, "test");
    EXPECT_EQ(config_to_json(config), json);
    EXPECT_TRUE(config.other_keys.empty()) << config.other_keys;
    EXPECT_EQ(config.head_dim, chosen.value("head_dim", 0));
    EXPECT_EQ(config.qk_gain.name(), chosen.value("qk_gain", "free"));
    EXPECT_EQ(config.norm_gain.name(), chosen.value("norm_gain", "free"));
    EXPECT_EQ(config.qk_norm, chosen.value("qk_norm", true));
  }
}

TEST(Config, UnknownGainsAreRefusedWithASuggestion) {
  const auto refusal = [](const Json& chosen) -> std::pair<std::string, std::string> {
    Json json = config_to_json(ModelConfig{});
    json.update(chosen);
    try {
      config_from_json(json, "dir/config.json");
    } catch (const Error& e) {
      return {e.what(), e.hint()};
    }
    return {};
  };
  auto [message, hint] = refusal({{"qk_gain", "pairs"}});
  EXPECT_EQ(message.find("dir/config.json"), 0u) << message;
  EXPECT_NE(message.find("qk_gain: expected free, pair or none, found 'pairs'"), std::string::npos) << message;
  EXPECT_NE(hint.find("'pair'"), std::string::npos) << hint;
  std::tie(message, hint) = refusal({{"norm_gain", "fre"}});
  EXPECT_NE(message.find("norm_gain: expected free, pair or none, found 'fre'"), std::string::npos) << message;
  EXPECT_NE(hint.find("'free'"), std::string::npos) << hint;
  // The other norms always have gains.
  EXPECT_NE(refusal({{"norm_gain", "none"}}).first.find("norm_gain = none, expected free or pair"), std::string::npos);
  EXPECT_NE(refusal({{"qk_gain", 2}}).first.find("qk_gain: expected a string, found 2"), std::string::npos);
  EXPECT_NE(refusal({{"head_dim", -2}}).first.find("head_dim = -2"), std::string::npos);
  EXPECT_NE(refusal({{"head_dim", 65}}).first.find("65 wide"), std::string::npos) << "RoPE rotates pairs";
}

TEST(Config, GainsOfANormThatIsNotThereAreRefused) {
  for (const Choice<Gain> gain : {Gain::pair, Gain::none}) {
    const std::string message = validation_error([&](ModelConfig& c) { c.qk_norm = false, c.qk_gain = gain; });
    EXPECT_NE(message.find(std::string("qk_gain = ") + std::string(gain.name()) + " in a model without QK-norm"),
              std::string::npos)
        << message;
  }
  EXPECT_EQ(validation_error([](ModelConfig& c) { c.qk_norm = false, c.norm_gain = Gain::pair; }), "");
}

TEST(Config, AConjugateScaleNeedsTiedProjections) {
  EXPECT_EQ(validation_error([](ModelConfig& c) { c.variant = Variant::crope_qk, c.conjugate_scale = 0.5; }), "");
  const std::string untied = validation_error([](ModelConfig& c) { c.conjugate_scale = 0.5; });
  EXPECT_NE(untied.find("conjugate_scale = 0.5 with variant rope"), std::string::npos) << untied;
  const std::string endless =
      validation_error([](ModelConfig& c) { c.variant = Variant::crope_all, c.conjugate_scale = INFINITY; });
  EXPECT_NE(endless.find("conjugate_scale = inf, expected a finite number"), std::string::npos) << endless;

  ModelConfig config;
  config.variant = Variant::crope_all;
  EXPECT_FALSE(config_to_json(config).contains("conjugate_scale"));
  config.conjugate_scale = 1.0 / 3;
  const ModelConfig back = config_from_json(config_to_json(config), "config.json");
  EXPECT_EQ(back.conjugate_scale, config.conjugate_scale) << "to the last bit: a resumed run continues from it";
  EXPECT_TRUE(back.other_keys.empty());
  Json wrong = config_to_json(config);
  wrong["conjugate_scale"] = "half";
  EXPECT_THROW(config_from_json(wrong, "config.json"), Error);
}

// Heads need not divide the width where head_dim gives their own.
TEST(Config, HeadDimReplacesTheShareOfTheWidth) {
  EXPECT_EQ(validation_error([](ModelConfig& c) { c.num_heads = 7, c.head_dim = 64; }), "");
  ModelConfig config;
  config.head_dim = 256;
  EXPECT_EQ(config.qk_width(), 256);
  config.variant = Variant::half_rope_all;
  EXPECT_EQ(config.qk_width(), 128);
  EXPECT_EQ(config.v_width(), 128);
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
