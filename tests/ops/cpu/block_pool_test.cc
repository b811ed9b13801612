#include "crope/ops/cpu/block_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace crope::ops::cpu {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

TEST(BlockPool, AFreedBlockIsHandedOutAgain) {
  BlockPool pool;
  void* first = pool.allocate(4 * kMegabyte);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  EXPECT_TRUE(pool.release(first));
  EXPECT_EQ(pool.allocate(4 * kMegabyte), first);
}

TEST(BlockPool, NeighboursJoin) {
  BlockPool pool;
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(pool.allocate(4 * kMegabyte));
  const std::size_t reserved = pool.stats().reserved;
  for (const int i : {3, 1, 2, 0, 15, 13, 14, 12, 5, 4, 7, 6, 9, 11, 10, 8}) EXPECT_TRUE(pool.release(blocks[i]));
  EXPECT_EQ(pool.allocate(64 * kMegabyte), blocks[0]);
  EXPECT_EQ(pool.stats().reserved, reserved);
}

TEST(BlockPool, RefusesWhatIsNotItsOwn) {
  BlockPool pool;
  int other = 0;
  EXPECT_FALSE(pool.release(&other));
  void* block = pool.allocate(kMegabyte);
  EXPECT_TRUE(pool.release(block));
  EXPECT_FALSE(pool.release(block)) << "released twice";
}

TEST(BlockPool, CountsWhatIsOut) {
  BlockPool pool;
  void* large = pool.allocate(100 * kMegabyte);
  EXPECT_EQ(pool.stats().in_use, 100 * kMegabyte);
  pool.release(large);
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_EQ(pool.stats().peak_in_use, 100 * kMegabyte);
  EXPECT_THROW(pool.allocate(SIZE_MAX - 5), std::bad_alloc);
}

// Blocks never overlap, whatever the order of requests, from two threads.
TEST(BlockPool, BlocksAreDisjoint) {
  BlockPool pool;
  const auto work = [&pool](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<unsigned char*, std::size_t>> held;
    for (int i = 0; i < 400; ++i) {
      if (held.size() > 10 || (!held.empty() && random() % 2 == 0)) {
        const std::size_t which = random() % held.size();
        const auto [block, size] = held[which];
        const auto mark = static_cast<unsigned char>(size + seed);
        ASSERT_EQ(block[0], mark);
        ASSERT_EQ(block[size - 1], mark);
        ASSERT_TRUE(pool.release(block));
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const std::size_t size = 1 + random() % (3 * kMegabyte);
        auto* block = static_cast<unsigned char*>(pool.allocate(size));
        block[0] = block[size - 1] = static_cast<unsigned char>(size + seed);
        held.emplace_back(block, size);
      }
    }
    for (const auto& [block, size] : held) pool.release(block);
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_EQ(pool.stats().in_use, 0u);
}

}  // namespace
}  // namespace crope::ops::cpu
