#include "crope/analysis/layer_losses.h"

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

model::Transformer random_model(std::int64_t layers, model::Variant variant) {
  model::ModelConfig config{.vocab_size = 31, .num_layers = layers, .num_heads = 2, .d_model = 16, .d_ff = 12};
  config.max_seq_len = 12;
  config.variant = variant;
  return model::make_random_transformer(config, {.seed = 2, .embedding_std = 0.4});
}

// The loss behind the first n blocks is that of the model made of them.
TEST(LayerLosses, AreThoseOfModelsCutShort) {
  const std::vector<Tensor> rows = {at::arange(13, torch::kInt64).unsqueeze(0),
                                    at::arange(7, torch::kInt64).mul(5).remainder(31).unsqueeze(0)};
  for (const model::Variant variant : {model::Variant::rope, model::Variant::crope_all}) {
    const model::Transformer whole = random_model(4, variant);
    const LayerLosses found = layer_losses(whole, rows);
    EXPECT_EQ(found.tokens, 12 + 6);
    ASSERT_EQ(found.losses.size(), 5u);
    for (std::int64_t layers = 1; layers <= 4; ++layers) {
      model::Transformer cut = whole;
      cut.config.num_layers = layers;
      cut.blocks.resize(static_cast<std::size_t>(layers));
      double sum = 0;
      for (const Tensor& row : rows) sum += model::token_losses(cut, row[0]).sum().item<double>();
      EXPECT_NEAR(found.losses[static_cast<std::size_t>(layers)], sum / 18, 1e-5) << layers;
    }
  }
}

TEST(LayerLosses, RefusesRowsOutsideTheWindow) {
  const std::vector<Tensor> rows = {at::zeros({1, 14}, torch::kInt64)};
  EXPECT_THROW(layer_losses(random_model(1, model::Variant::rope), rows), Error);
}

}  // namespace
}  // namespace crope::analysis
