#include "crope/model/cost.h"

#include <gtest/gtest.h>

#include "crope/model/parameters.h"

namespace crope::model {
namespace {

TEST(Cost, CountsProductsAndScores) {
  ModelConfig config;
  const Cost rope = cost_per_token(config, 512);
  // Two operations for each weight, and for each of 256.5 positions on average in 16 layers, QK' and AV of 1,024.
  const double weights = 51'511'296 + 67'108'864 + 50'331'648;
  EXPECT_DOUBLE_EQ(rope.forward_flops, 2 * (weights + 16 * 2048 * 256.5));
  EXPECT_DOUBLE_EQ(rope.training_flops, 3 * rope.forward_flops);
  EXPECT_DOUBLE_EQ(rope.cache_bytes, 16 * 2048 * 4);

  config.variant = Variant::crope_all;
  const Cost tied = cost_per_token(config, 512);
  // Half the parameters at three products instead of four.
  EXPECT_DOUBLE_EQ(rope.forward_flops - tied.forward_flops, 2 * 0.25 * 67'108'864);
}

TEST(Cost, BytesOfTheWeights) {
  const ModelConfig config;
  const ParameterCounts counts = count_parameters(config);
  const auto matrices = static_cast<double>(counts.attention + counts.feed_forward);
  EXPECT_DOUBLE_EQ(weight_bytes(config, ops::WeightType::fp32), 4.0 * static_cast<double>(counts.total()));
  EXPECT_DOUBLE_EQ(weight_bytes(config, ops::WeightType::bf16), 2.0 * static_cast<double>(counts.total()));
  // The vocabulary's matrix has 8.5 bits in both, gains 32.
  const double rest = 8.5 / 8 * static_cast<double>(counts.embedding) + 4.0 * static_cast<double>(counts.norm);
  EXPECT_DOUBLE_EQ(weight_bytes(config, ops::WeightType::int8), rest + 8.5 / 8 * matrices);
  EXPECT_DOUBLE_EQ(weight_bytes(config, ops::WeightType::int4), rest + 4.5 / 8 * matrices);
}

}  // namespace
}  // namespace crope::model
