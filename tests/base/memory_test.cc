#include "crope/base/memory.h"

#include <gtest/gtest.h>

#include <vector>

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
}

}  // namespace
}  // namespace crope
