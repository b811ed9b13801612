#include "crope/analysis/model_analysis.h"

#include <gtest/gtest.h>

#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/temporary_folder.h"

namespace crope::analysis {
namespace {

model::Transformer small_model(std::uint64_t seed) {
  return model::make_random_transformer({.vocab_size = 32, .num_layers = 2, .num_heads = 2, .d_model = 16, .d_ff = 8},
                                        {.seed = seed});
}

TEST(ModelAnalysis, GoldensOfEveryVariant) {
  Log silent(nullptr);
  for (const model::VariantTraits& variant : model::kVariants) {
    const std::filesystem::path goldens = std::filesystem::path(CROPE_SOURCE_DIR) / "tests/data/goldens";
    const ModelAnalysis analysis = analyze_model(goldens / variant.name, silent);
    ASSERT_EQ(analysis.models.size(), 1u);
    EXPECT_FALSE(analysis.last().step.has_value());
    for (const ProjectionEnergies& each : analysis.last().projections) {
      EXPECT_NEAR(each.energies.total(), each.squared_norm, 1e-9 * each.squared_norm);
      if (each.tied) {
        EXPECT_LT(each.energies.conjugate_linear_share(), 1e-14);
      } else {
        EXPECT_GT(each.energies.conjugate_linear_share(), 0.2);
      }
    }
  }
}

TEST(ModelAnalysis, CheckpointsOfARun) {
  const test::TemporaryFolder folder;
  for (const int step : {5, 10}) {
    model::save_model(small_model(std::uint64_t(step)), folder / ("checkpoints/step_" + std::to_string(step)));
  }
  Log silent(nullptr);
  const ModelAnalysis analysis = analyze_model(folder.path(), silent);
  ASSERT_EQ(analysis.models.size(), 2u);
  EXPECT_EQ(analysis.models[0].step, 5);
  EXPECT_EQ(analysis.last().step, 10);
  EXPECT_EQ(analysis.last().projections.size(), 8u);
}

}  // namespace
}  // namespace crope::analysis
