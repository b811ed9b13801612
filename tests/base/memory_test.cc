#include "crope/base/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "crope/base/error.h"

namespace crope {
namespace {

TEST(Memory, GrowsWithWhatIsTouched) {
  const std::uint64_t before = resident_memory();
  if (before == 0) GTEST_SKIP() << "this system does not tell";
  constexpr std::size_t kBytes = 64 << 20;
  {
    const std::vector<char> block(kBytes, 1);
    EXPECT_GE(resident_memory() + (1 << 20), before + kBytes) << block.back();
  }
  EXPECT_GE(peak_memory() + (1 << 20), before + kBytes);
}

TEST(Memory, BytesAreReadable) {
  EXPECT_EQ(format_bytes(950), "950 B");
  EXPECT_EQ(format_bytes(12'340), "12.3 kB");
  EXPECT_EQ(format_bytes(12'340'000), "12.3 MB");
  EXPECT_EQ(format_bytes(1.2e9), "1.20 GB");
  EXPECT_EQ(format_bytes(1.6e12), "1.60 TB");
}

TEST(Memory, WhatDoesNotFitIsRefusedWithBothNumbers) {
  EXPECT_GT(free_memory(), 0u);
  EXPECT_NO_THROW(require_memory(1, "a model", "weights"));
  try {
    require_memory(1.6e18, "a model", "weights and more");
    FAIL();
  } catch (const Error& e) {
    const std::string message = e.what();
    EXPECT_EQ(message.find("a model needs about 1600000.00 TB for weights and more; "), 0u) << message;
    EXPECT_TRUE(message.ends_with(" are free")) << message;
  }
}

}  // namespace
}  // namespace crope
