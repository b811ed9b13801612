#include "crope/formats/ggml_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "crope/base/random.h"

namespace crope::formats {
namespace {

constexpr std::uint16_t kOne = 0x3C00, kHalf = 0x3800, kInfinite = 0x7C00;

std::vector<std::byte> block_of(std::size_t size, std::initializer_list<std::pair<std::size_t, int>> bytes) {
  std::vector<std::byte> block(size);
  for (const auto& [place, value] : bytes) block[place] = static_cast<std::byte>(value);
  return block;
}

void put_half(std::vector<std::byte>& block, std::size_t place, std::uint16_t bits) {
  block[place] = static_cast<std::byte>(bits & 255);
  block[place + 1] = static_cast<std::byte>(bits >> 8);
}

std::vector<float> decoded(GgmlType type, const std::vector<std::byte>& bytes) {
  const GgmlBlock block = ggml_block(type);
  std::vector<float> values(bytes.size() / static_cast<std::size_t>(block.bytes) *
                            static_cast<std::size_t>(block.elements));
  decode_ggml_blocks(type, bytes, values, "test");
  return values;
}

TEST(GgmlDecode, FourAndFiveBits) {
  auto q4_0 = block_of(18, {{2, 0x9F}});
  put_half(q4_0, 0, kHalf);
  const std::vector<float> a = decoded(GgmlType::q4_0, q4_0);
  EXPECT_EQ(a[0], 0.5f * (15 - 8));
  EXPECT_EQ(a[16], 0.5f * (9 - 8));
  EXPECT_EQ(a[1], 0.5f * -8);

  auto q4_1 = block_of(20, {{4 + 15, 0x21}});
  put_half(q4_1, 0, kHalf);
  put_half(q4_1, 2, kOne);
  const std::vector<float> b = decoded(GgmlType::q4_1, q4_1);
  EXPECT_EQ(b[15], 1.5f);
  EXPECT_EQ(b[31], 2.0f);
  EXPECT_EQ(b[0], 1.0f);

  auto q5_0 = block_of(22, {{2, 0x02}, {5, 0x80}, {7, 0x03}});
  put_half(q5_0, 0, kOne);
  const std::vector<float> c = decoded(GgmlType::q5_0, q5_0);
  EXPECT_EQ(c[1], 3.0f + 16 - 16);
  EXPECT_EQ(c[31], 0.0f);
  EXPECT_EQ(c[0], -16.0f);

  auto q5_1 = block_of(24, {{4, 0x01}, {8, 0x07}});
  put_half(q5_1, 0, kOne);
  put_half(q5_1, 2, kHalf);
  const std::vector<float> d = decoded(GgmlType::q5_1, q5_1);
  EXPECT_EQ(d[0], 23.5f);
  EXPECT_EQ(d[16], 0.5f);
}

TEST(GgmlDecode, GroupsOfKQuants) {
  // Group 0: scale 3, minimum 2; group 4: scale 1 | 2 << 4, minimum 5 | 1 << 4.
  auto q4_k = block_of(144, {{4, 3 | 2 << 6}, {8, 2 | 1 << 6}, {12, 1 | 5 << 4}, {16, 0x0A}, {16 + 64, 0x07}});
  put_half(q4_k, 0, kOne);
  put_half(q4_k, 2, kHalf);
  const std::vector<float> a = decoded(GgmlType::q4_k, q4_k);
  EXPECT_EQ(a[0], 3.0f * 10 - 0.5f * 2);
  EXPECT_EQ(a[1], -1.0f);
  EXPECT_EQ(a[128], 33.0f * 7 - 0.5f * 21);
  EXPECT_EQ(a[32], 0.0f) << "group 1 has no scale";

  auto q5_k = block_of(176, {{4, 3}, {16, 0x01}, {48, 0x0A}});
  put_half(q5_k, 0, kOne);
  const std::vector<float> b = decoded(GgmlType::q5_k, q5_k);
  EXPECT_EQ(b[0], 3.0f * 26);
  EXPECT_EQ(b[1], 0.0f);

  auto q6_k = block_of(210, {{0, 0x21}, {128, 0x02}, {192, 2}, {192 + 4, 0xFF}});
  put_half(q6_k, 208, kHalf);
  const std::vector<float> c = decoded(GgmlType::q6_k, q6_k);
  EXPECT_EQ(c[0], 0.5f * 2 * (1 + 32 - 32));
  EXPECT_EQ(c[64], 0.5f * -1 * (2 - 32));
  EXPECT_EQ(c[1], 0.5f * 2 * -32);
}

TEST(GgmlDecode, ScalesThatAreNotFiniteAreNamed) {
  for (const auto& [type, place] : {std::pair{GgmlType::q8_0, 0},
                                    {GgmlType::q4_0, 0},
                                    {GgmlType::q4_1, 2},
                                    {GgmlType::q5_1, 2},
                                    {GgmlType::q4_k, 2},
                                    {GgmlType::q6_k, 208}}) {
    const auto size = static_cast<std::size_t>(ggml_block(type).bytes);
    std::vector<std::byte> blocks(2 * size);
    put_half(blocks, size + static_cast<std::size_t>(place), kInfinite);
    try {
      decoded(type, blocks);
      FAIL() << ggml_type_name(type);
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), "test: the scale of block 1 is not finite");
    }
  }
}

}  // namespace
}  // namespace crope::formats
