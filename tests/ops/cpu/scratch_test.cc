#include "crope/ops/cpu/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace crope::ops::cpu {
namespace {

TEST(Scratch, LargeBlocksComeFromThePoolAndGoBack) {
  const std::size_t before = shared_pool().stats().in_use;
  float* first = nullptr;
  {
    const Scratch scratch(1 << 20);
    first = scratch.data();
    std::fill_n(scratch.data(), 1 << 20, 1.0f);
    EXPECT_GE(shared_pool().stats().in_use, before + (4u << 20));
    const Scratch other(1 << 20);
    EXPECT_GE(std::abs(other.data() - first), 1 << 20);
  }
  EXPECT_EQ(shared_pool().stats().in_use, before);
  EXPECT_EQ(Scratch(1 << 20).data(), first) << "the same pages are used again";
}

TEST(Scratch, SmallBlocksDoNot) {
  const std::size_t before = shared_pool().stats().in_use;
  for (const std::int64_t floats : {0, 1, 17, 1000}) {
    const Scratch scratch(floats);
    std::fill_n(scratch.data(), floats, 1.0f);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.data()) % 64, 0u);
    EXPECT_EQ(shared_pool().stats().in_use, before);
  }
}

}  // namespace
}  // namespace crope::ops::cpu
