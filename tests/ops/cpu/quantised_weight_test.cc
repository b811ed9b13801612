#include "crope/ops/cpu/quantised_weight.h"

#include <algorithm>

#include "crope/base/half.h"
#include "crope/ops/cpu/kernels.h"
#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;

std::vector<float> round_trip(const std::vector<float>& values, WeightType type, std::int64_t M, std::int64_t N) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(quantised_bytes(type, M, N)));
  quantise_matrix({.from = {values.data(), M, N, N}, .type = type, .to = bytes.data()});
  std::vector<float> back(values.size());
  widen_rows({.weight = {bytes.data(), type, M, N}, .first = 0, .y = {back.data(), M, N, N}});
  return back;
}

double squared_error(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(static_cast<double>(x[i]) - y[i], 2);
  return sum;
}

TEST(QuantisedWeight, EightBitsAreWithinHalfAStepOfTheirBlock) {
  for (const auto& [M, N] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {16, 32}, {17, 33}, {5, 100}, {40, 64}}) {
    const std::vector<float> x = draw_floats("w", M * N), y = round_trip(x, WeightType::int8, M, N);
    for (std::int64_t m = 0; m < M; ++m) {
      for (std::int64_t n = 0; n < N; ++n) {
        const auto first = x.begin() + m * N + n / 32 * 32, end = x.begin() + m * N + std::min(N, n / 32 * 32 + 32);
        const float largest =
            std::abs(*std::max_element(first, end, [](float a, float b) { return std::abs(a) < std::abs(b); }));
        // Half a step, and what the 16-bit scale is off by, 127 times.
        EXPECT_NEAR(y[static_cast<std::size_t>(m * N + n)], x[static_cast<std::size_t>(m * N + n)],
                    largest / 127 * (0.5 + 127 / 2048.0));
      }
    }
  }
}

TEST(QuantisedWeight, WhatTheTypesHoldComesBackExactly) {
  std::vector<float> eight, four;
  for (int i = 0; i < 32; ++i) {
    eight.push_back(0.25f * static_cast<float>(i == 0 ? -127 : 8 * i - 127));
    four.push_back(-0.5f * static_cast<float>(i == 0 ? -8 : i % 16 - 8));
  }
  EXPECT_EQ(round_trip(eight, WeightType::int8, 1, 32), eight);
  EXPECT_EQ(round_trip(four, WeightType::int4, 1, 32), four);
  const std::vector<float> zeros(64);
  EXPECT_EQ(round_trip(zeros, WeightType::int8, 2, 32), zeros);
  EXPECT_EQ(round_trip(zeros, WeightType::int4, 2, 32), zeros);
}

// The usual rounding puts the largest weight at -8; least squares never do worse over a block.
TEST(QuantisedWeight, FourBitsFitBetterThanTheUsualRounding) {
  const std::int64_t M = 32, N = 32;
  const std::vector<float> x = draw_floats("w", M * N), y = round_trip(x, WeightType::int4, M, N);
  double usual_error = 0;
  for (std::int64_t m = 0; m < M; ++m) {
    const auto row = x.begin() + m * N;
    const float d = *std::max_element(row, row + N, [](float a, float b) { return std::abs(a) < std::abs(b); }) / -8;
    std::vector<float> usual;
    for (std::int64_t n = 0; n < N; ++n) usual.push_back(d * std::clamp(std::round(row[n] / d), -8.0f, 7.0f));
    const std::vector<float> one(row, row + N), ours(y.begin() + m * N, y.begin() + (m + 1) * N);
    const double error = squared_error(one, usual);
    EXPECT_LE(squared_error(one, ours), error * 1.001);  // the scale has 11 bits
    usual_error += error;
  }
  EXPECT_LT(squared_error(x, y), 0.95 * usual_error);
}

TEST(QuantisedWeight, HugeAndTinyWeightsStayFinite) {
  for (const WeightType type : {WeightType::int8, WeightType::int4}) {
    for (const float size : {1e30f, 1e-30f, 1e-8f}) {
      for (const float value : round_trip(std::vector<float>(32, size), type, 1, 32)) {
        EXPECT_TRUE(std::isfinite(value));
        EXPECT_GE(value, 0);
      }
    }
  }
}

TEST(QuantisedWeight, BytesOfAPanel) {
  EXPECT_EQ(quantised_bytes(WeightType::int8, 16, 32), 16 * 34);  // 8.5 bits a weight
  EXPECT_EQ(quantised_bytes(WeightType::int4, 16, 32), 16 * 18);  // 4.5
  EXPECT_EQ(quantised_bytes(WeightType::int4, 17, 33), 4 * 16 * 18);
  EXPECT_EQ(quantised_bytes(WeightType::int4_min, 16, 32), 16 * 20);  // 5
}

}  // namespace
}  // namespace crope::ops::cpu
