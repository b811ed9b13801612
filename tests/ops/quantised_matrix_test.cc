#include "crope/ops/quantised_matrix.h"

#include <cmath>

#include "crope/base/error.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr WeightType kTypes[] = {WeightType::int8, WeightType::int4, WeightType::int4_min};

// Blocks of any bits with small finite scales.
Tensor random_blocks(WeightType type, int64_t M, int64_t N) {
  Tensor blocks = at::randint(0, 256, block_shape(type, M, N), at::kByte);
  const int64_t head = type == WeightType::int4_min ? 4 : 2;
  const Tensor scales = test::random_tensor({M, blocks.size(1), head / 2}, torch::kFloat32).to(at::kHalf);
  blocks.narrow(2, 0, head).copy_(scales.view(at::kByte).view({M, blocks.size(1), head}));
  return blocks;
}

// A block by the definition in the header.
float plain_value(const std::uint8_t* block, WeightType type, int64_t column) {
  const auto half = [&](int64_t at) {
    c10::Half value;
    std::memcpy(&value, block + at, sizeof(value));
    return static_cast<float>(value);
  };
  if (type == WeightType::int8) return half(0) * static_cast<float>(static_cast<std::int8_t>(block[2 + column]));
  const int64_t head = type == WeightType::int4_min ? 4 : 2;
  const int byte = block[head + column % 16];
  const int q = column < 16 ? byte & 15 : byte >> 4;
  return type == WeightType::int4 ? half(0) * static_cast<float>(q - 8) : half(0) * static_cast<float>(q) + half(2);
}

TEST(QuantisedMatrix, BlocksGoToMemoryAndBack) {
  for (const WeightType type : kTypes) {
    for (const auto& [M, N] : {std::pair<int64_t, int64_t>{1, 32}, {16, 64}, {37, 96}, {33, 50}}) {
      const Tensor blocks = random_blocks(type, M, N);
      const QuantisedMatrix matrix = from_blocks(blocks, type, N);
      EXPECT_TRUE(at::equal(to_blocks(matrix), blocks));
      const Tensor wide = widened(matrix);
      ASSERT_EQ(wide.sizes(), (at::IntArrayRef{M, N}));
      for (int64_t m = 0; m < M; ++m) {
        for (int64_t n = 0; n < N; ++n) {
          const auto* block = blocks.const_data_ptr<std::uint8_t>() + (m * blocks.size(1) + n / 32) * blocks.size(2);
          ASSERT_FLOAT_EQ(wide[m][n].item<float>(), plain_value(block, type, n % 32)) << m << ", " << n;
        }
      }
      if (M > 3) {
        EXPECT_TRUE(at::equal(widened(matrix, 2, M - 3), wide.narrow(0, 2, M - 3)));
      }
    }
  }
}

TEST(QuantisedMatrix, RoundingSurvivesTheFile) {
  const Tensor weight = test::random_tensor({21, 70}, torch::kFloat32);
  for (const WeightType type : {WeightType::int8, WeightType::int4}) {
    const QuantisedMatrix matrix = quantised(weight, type);
    const QuantisedMatrix back = from_blocks(to_blocks(matrix), type, 70);
    EXPECT_TRUE(at::equal(widened(back), widened(matrix)));
  }
}

TEST(QuantisedMatrix, CostsChooseTheScales) {
  const Tensor weight = test::random_tensor({64, 96}, torch::kFloat32);
  const Tensor costs = at::exp(2 * test::random_tensor({96}, torch::kFloat32));
  const auto cost_of = [&](const Tensor& column_costs) {
    const Tensor error = widened(quantised(weight, WeightType::int4, column_costs)) - weight;
    return (error.square() * costs).sum().item<double>();
  };
  EXPECT_LT(cost_of(costs), 0.95 * cost_of({}));
  // Equal costs are no costs: two scales whose errors are equal up to rounding may take each other's place.
  const auto error_of = [&](const Tensor& column_costs) {
    return (widened(quantised(weight, WeightType::int4, column_costs)) - weight).square().sum().item<double>();
  };
  EXPECT_NEAR(error_of(at::full({96}, 3.0f)), error_of({}), 1e-4 * error_of({}));
  // Columns of no cost keep their weights.
  const Tensor none = widened(quantised(weight, WeightType::int4, at::zeros({96})));
  EXPECT_TRUE(at::equal(none, widened(quantised(weight, WeightType::int4))));
}

TEST(QuantisedMatrix, WhatIsNotFiniteIsRefused) {
  Tensor bad = test::random_tensor({4, 6}, torch::kFloat32);
  bad[1][2] = INFINITY;
  EXPECT_THROW(quantised(bad, WeightType::int8), Error);
  EXPECT_THROW(quantised(bad, WeightType::int4), Error);
  for (const WeightType type : kTypes) {
    Tensor blocks = random_blocks(type, 3, 32);
    blocks[1][0][type == WeightType::int4_min ? 3 : 1] = 0x7e;  // a scale or minimum that is no number
    EXPECT_THROW(from_blocks(blocks, type, 32), Error);
  }
}

TEST(QuantisedMatrix, BitsAndBlocks) {
  EXPECT_EQ(bits_per_weight(WeightType::int8), 8.5);
  EXPECT_EQ(bits_per_weight(WeightType::int4), 4.5);
  EXPECT_EQ(bits_per_weight(WeightType::int4_min), 5);
  EXPECT_EQ(bits_per_weight(WeightType::bf16), 16);
  EXPECT_EQ(bits_per_weight(WeightType::fp32), 32);
  EXPECT_EQ(block_shape(WeightType::int4, 3, 33), (std::array<int64_t, 3>{3, 2, 18}));
  for (const WeightType type : kTypes) EXPECT_EQ(type_of_blocks(quantised_block_bytes(type)), type);
  EXPECT_FALSE(type_of_blocks(36));
}

}  // namespace
}  // namespace crope::ops
