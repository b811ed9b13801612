#include "crope/ops/logit_chunks.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace crope::ops {
namespace {

TEST(LogitChunks, CoverEveryRowOnce) {
  for (const std::int64_t R : {1, 63, 64, 65, 129, 5000, 10001}) {
    for (const std::int64_t V : {2, 1000, 50304}) {
      std::int64_t next = 0, largest = 0;
      for_each_logit_chunk(R, V, 1 << 20, [&](std::int64_t row, std::int64_t count) {
        EXPECT_EQ(row, next);
        EXPECT_GT(count, 0);
        next += count;
        largest = std::max(largest, count);
      });
      EXPECT_EQ(next, R);
      EXPECT_EQ(largest, logit_chunk_rows(R, V, 1 << 20));
    }
  }
}

TEST(LogitChunks, HaveBounds) {
  EXPECT_LE(logit_chunk_rows(100'000, 2, 1 << 20), 4096);
  EXPECT_LE(logit_chunk_rows(100'000, 2000, 1 << 20) * 2000, 1 << 20);
  EXPECT_EQ(logit_chunk_rows(6400, 1 << 24, 1 << 20), 64) << "few rows would make slow products";
}

TEST(LogitChunks, AreInFp32AtLeast) {
  EXPECT_EQ(logit_type(torch::empty({1}, torch::kBFloat16)), torch::kFloat32);
  EXPECT_EQ(logit_type(torch::empty({1}, torch::kFloat32)), torch::kFloat32);
  EXPECT_EQ(logit_type(torch::empty({1}, torch::kFloat64)), torch::kFloat64);
}

}  // namespace
}  // namespace crope::ops
