#include "crope/serve/model_card.h"

#include <gtest/gtest.h>

#include "crope/serve/attention_view.h"

namespace crope::serve {
namespace {

// The numbers of the paper's Figure param_counts.
TEST(ModelCard, HasTheNumbersOfThePaper) {
  const model::ModelConfig config{.variant = model::Variant::crope_all};
  const Json card = model_card(
      config, {.name = "runs/x", .precision = "fp32", .has_tokenizer = true, .chat = "chatml", .is_run = true});
  EXPECT_EQ(card["chat"], "chatml");
  EXPECT_EQ(card["name"], "runs/x");
  EXPECT_EQ(card["variant"], "crope_all");
  EXPECT_EQ(card["tokenizer"], true);
  EXPECT_EQ(card["run"], true);
  EXPECT_EQ(card["tied"].dump(), R"(["q","k","v","o"])");
  EXPECT_EQ(card["parameters"]["attention"], 33554432);
  EXPECT_EQ(card["parameters"]["total"], 135435264);
  EXPECT_EQ(card["rope_parameters"]["attention"], 67108864);
  EXPECT_DOUBLE_EQ(card["attention_saving"].get<double>(), 0.5);
  EXPECT_EQ(card["config"]["num_layers"], 16);
  EXPECT_EQ(card["max_attention_tokens"], kMaxAttentionTokens);
}

TEST(ModelCard, SaysWhatIsTied) {
  EXPECT_EQ(model_card({.variant = model::Variant::rope}, {})["tied"].dump(), "[]");
  EXPECT_TRUE(model_card({}, {})["chat"].is_null());
  EXPECT_EQ(model_card({.variant = model::Variant::crope_qk}, {})["tied"].dump(), R"(["q","k"])");
  EXPECT_EQ(model_card({.variant = model::Variant::crope_qkv}, {})["tied"].dump(), R"(["q","k","v"])");
  EXPECT_EQ(model_card({.variant = model::Variant::half_rope_all}, {})["tied"].dump(), "[]");
}

TEST(ModelCard, AShortWindowBoundsTheView) {
  EXPECT_EQ(model_card({.max_seq_len = 48}, {})["max_attention_tokens"], 48);
}

}  // namespace
}  // namespace crope::serve
