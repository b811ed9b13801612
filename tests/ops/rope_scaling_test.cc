#include "crope/ops/rope_scaling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace crope::ops {
namespace {

TEST(RopeScaling, NoneGivesThePlainFrequencies) {
  const std::vector<double> theta = rope_frequencies(8, 10'000, {}, 512);
  ASSERT_EQ(theta.size(), 4u);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_DOUBLE_EQ(theta[j], std::pow(10'000, -2.0 * static_cast<double>(j) / 8));
  EXPECT_EQ(rope_amplitude({}), 1);
}

TEST(RopeScaling, LinearDividesAll) {
  const RopeScaling scaling{.type = RopeStretch::linear, .factor = 4};
  const std::vector<double> plain = rope_frequencies(8, 500, {}, 64), scaled = rope_frequencies(8, 500, scaling, 64);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_DOUBLE_EQ(scaled[j], plain[j] / 4);
}

// The base grows so that the slowest pair turns as slowly as under linear scaling, and the fastest not slower.
TEST(RopeScaling, DynamicStretchesTheSlowestPairByTheWindow) {
  const RopeScaling scaling{.type = RopeStretch::dynamic, .factor = 1, .original_length = 100};
  const std::vector<double> plain = rope_frequencies(16, 500, {}, 400),
                            scaled = rope_frequencies(16, 500, scaling, 400);
  EXPECT_DOUBLE_EQ(scaled.front(), plain.front());
  EXPECT_NEAR(scaled.back(), plain.back() / 4, 1e-12);
  EXPECT_EQ(rope_frequencies(16, 500, scaling, 100), plain) << "a window as long as the original is not stretched";
  EXPECT_EQ(rope_frequencies(16, 500, {.type = RopeStretch::dynamic, .factor = 3}, 100), plain);
}

TEST(RopeScaling, YarnKeepsFastPairsAndDividesSlowOnes) {
  const RopeScaling scaling{.type = RopeStretch::yarn, .factor = 4, .original_length = 4096};
  const std::vector<double> plain = rope_frequencies(128, 10'000, {}, 16384);
  const std::vector<double> scaled = rope_frequencies(128, 10'000, scaling, 16384);
  for (std::size_t j = 0; j < plain.size(); ++j) {
    const double turns = 4096 * plain[j] / (2 * M_PI);
    if (turns > 40) {
      EXPECT_DOUBLE_EQ(scaled[j], plain[j]) << j;
    }
    if (turns < 0.8) {
      EXPECT_DOUBLE_EQ(scaled[j], plain[j] / 4) << j;
    }
    EXPECT_LE(scaled[j], plain[j]);
    EXPECT_GE(scaled[j], plain[j] / 4);
  }
  EXPECT_DOUBLE_EQ(rope_amplitude(scaling), 0.1 * std::log(4.0) + 1);
  RopeScaling given = scaling;
  given.attention_factor = 0.7;
  EXPECT_EQ(rope_amplitude(given), 0.7);
}

TEST(RopeScaling, Llama3RampsByWavelength) {
  const RopeScaling scaling{.type = RopeStretch::llama3, .factor = 8, .original_length = 8192};
  const std::vector<double> plain = rope_frequencies(128, 500'000, {}, 131072);
  const std::vector<double> scaled = rope_frequencies(128, 500'000, scaling, 131072);
  int between = 0;
  for (std::size_t j = 0; j < plain.size(); ++j) {
    const double wavelength = 2 * M_PI / plain[j];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(scaled[j], plain[j]) << j;
    } else if (wavelength > 8192) {
      EXPECT_EQ(scaled[j], plain[j] / 8) << j;
    } else {
      EXPECT_LT(scaled[j], plain[j]);
      EXPECT_GT(scaled[j], plain[j] / 8);
      ++between;
    }
  }
  EXPECT_GT(between, 2);
}

}  // namespace
}  // namespace crope::ops
