#include "crope/study/seed_pairs.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace crope::study {
namespace {

TEST(SeedPairs, AreTheSeedsThatBothHave) {
  const SeedPairs pairs = pair_by_seed({{0, 1.0}, {2, 3.0}, {5, 4.0}}, {{1, 9.0}, {2, 3.5}, {5, 4.25}});
  EXPECT_EQ(pairs.a, (std::vector<double>{3, 4}));
  EXPECT_EQ(pairs.differences(), (std::vector<double>{0.5, 0.25}));
  EXPECT_TRUE(pair_by_seed({{0, 1}}, {{1, 1}}).a.empty());
}

TEST(SeedPairs, ResolutionIsThatOfTheFinestValue) {
  EXPECT_DOUBLE_EQ(resolution_of(std::array{3.0, 4.0}), 1);
  EXPECT_DOUBLE_EQ(resolution_of(std::array{3.12, 4.0, 3.105}), 0.001);
  EXPECT_DOUBLE_EQ(resolution_of(std::array{3.12345, 4.0}), 1e-5);
  EXPECT_EQ(resolution_of({}), 0);
}

TEST(SeedPairs, FullPrecisionHasNoResolution) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> loss(2, 6);
  for (int study = 0; study < 1000; ++study) {
    EXPECT_EQ(resolution_of(std::array{loss(random), loss(random), loss(random), loss(random)}), 0);
  }
}

TEST(SeedPairs, EveryRoundedValueIsRecognised) {
  for (const int decimals : {1, 3, 4, 6, 8}) {
    const double scale = std::pow(10, decimals);
    for (int i = 1; i < 1000; ++i) {
      const double value = std::round((2 + 0.00437 * i) * scale) / scale;
      EXPECT_GE(resolution_of(std::array{value}), 0.999 / scale) << value;
    }
  }
}

}  // namespace
}  // namespace crope::study
