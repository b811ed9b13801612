#include "crope/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace crope {
namespace {

TEST(Parallel, RangesCoverEverythingOnce) {
  for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
    for (const std::int64_t grain : {0, 1, 3, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      std::atomic<int> ranges = 0;
      parallel_ranges(count, grain, [&](std::int64_t begin, std::int64_t end) {
        ++ranges;
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits) EXPECT_EQ(visit, 1);
      if (count <= grain) {
        EXPECT_EQ(ranges, count > 0 ? 1 : 0) << "little work stays on one thread";
      }
      EXPECT_LE(ranges, thread_count());
    }
  }
}

TEST(Parallel, ChunksDependOnTheCountAlone) {
  EXPECT_EQ(chunk_count(1, 1), 1);
  EXPECT_EQ(chunk_count(1 << 20, 1 << 10), kMostChunks);
  EXPECT_EQ(chunk_count(3, 1 << 20), 3);
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces(7);
  parallel_chunks(100, 7, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    pieces[static_cast<std::size_t>(chunk)] = {begin, end};
  });
  std::int64_t next = 0;
  for (const auto& [begin, end] : pieces) {
    EXPECT_EQ(begin, next);
    EXPECT_TRUE(end - begin == 14 || end - begin == 15);
    next = end;
  }
  EXPECT_EQ(next, 100);
}

TEST(Parallel, ItemsAreDoneOnceAndWorkersAreTheirOwn) {
  std::vector<std::atomic<int>> visits(500), busy(static_cast<std::size_t>(thread_count()));
  parallel_items(500, [&](std::int64_t item, std::int64_t worker) {
    EXPECT_EQ(busy.at(static_cast<std::size_t>(worker))++, 0) << "two threads have one number";
    ++visits[static_cast<std::size_t>(item)];
    --busy[static_cast<std::size_t>(worker)];
  });
  for (const auto& visit : visits) EXPECT_EQ(visit, 1);
}

TEST(Parallel, ALoopInsideAnotherStaysOnItsThread) {
  if (thread_count() == 1) GTEST_SKIP() << "one thread";
  parallel_items(4, [&](std::int64_t, std::int64_t) {
    EXPECT_EQ(thread_count(), 1);
    int ranges = 0;
    parallel_ranges(100, 1, [&](std::int64_t begin, std::int64_t end) {
      ++ranges;
      EXPECT_EQ(end - begin, 100);
    });
    EXPECT_EQ(ranges, 1);
  });
}

TEST(Parallel, AnExceptionComesOut) {
  const auto fail = [](std::int64_t item, std::int64_t) {
    if (item == 3) throw std::runtime_error("item 3");
  };
  EXPECT_THROW(parallel_items(10, fail), std::runtime_error);
  EXPECT_THROW(parallel_rows(1 << 20, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("range"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace crope
