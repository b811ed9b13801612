#include "crope/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace crope {
namespace {

TEST(Half, KnownNumbers) {
  EXPECT_EQ(half_to_float(0x3C00), 1.0f);
  EXPECT_EQ(half_to_float(0xC000), -2.0f);
  EXPECT_EQ(half_to_float(0x7BFF), 65504.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x0400), 0x1p-14f);
  EXPECT_EQ(half_to_float(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7E00)));
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
}

TEST(Half, EveryHalfComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      EXPECT_EQ(float_to_half(value), half);
    }
  }
}

// Halfway between neighbours the even one is taken, and a little more or less decides.
TEST(Half, RoundsToTheNearestEven) {
  for (std::uint16_t half = 0; half < 0x7BFF; ++half) {
    const float low = half_to_float(half), high = half_to_float(static_cast<std::uint16_t>(half + 1));
    const float middle = low + (high - low) / 2;
    const std::uint16_t even = half % 2 == 0 ? half : static_cast<std::uint16_t>(half + 1);
    EXPECT_EQ(float_to_half(middle), even);
    EXPECT_EQ(float_to_half(std::nextafter(middle, 0.0f)), half);
    EXPECT_EQ(float_to_half(std::nextafter(middle, 1e9f)), half + 1);
  }
  EXPECT_EQ(float_to_half(65519.9f), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0f), 0x7C00);
  EXPECT_EQ(float_to_half(-1e30f), 0xFC00);
}

}  // namespace
}  // namespace crope
