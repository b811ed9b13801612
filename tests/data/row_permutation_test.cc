#include "crope/data/row_permutation.h"

#include <gtest/gtest.h>

#include <vector>

namespace crope::data {
namespace {

TEST(RowPermutation, IsABijectionForEverySize) {
  for (std::uint64_t size = 1; size <= 600; ++size) {
    const RowPermutation permutation(size, 7, 0);
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t row = permutation(i);
      ASSERT_LT(row, size);
      ASSERT_FALSE(seen[row]) << size;
      seen[row] = true;
    }
  }
}

TEST(RowPermutation, SeedsAndEpochsGiveUnrelatedOrders) {
  constexpr std::uint64_t kSize = 10'000;
  const RowPermutation first(kSize, 1, 0), epoch(kSize, 1, 1), seed(kSize, 2, 0);
  int same_epoch = 0, same_seed = 0, in_place = 0, neighbours = 0;
  for (std::uint64_t i = 0; i + 1 < kSize; ++i) {
    same_epoch += first(i) == epoch(i);
    same_seed += first(i) == seed(i);
    in_place += first(i) == i;
    neighbours += first(i + 1) == first(i) + 1;
  }
  // Each is Poisson with mean 1 for random orders.
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
  EXPECT_LT(in_place, 10);
  EXPECT_LT(neighbours, 10);
}

TEST(RowPermutation, SpreadsEvenly) {
  // The first tenth of the places should draw about a tenth of its rows from each tenth of the corpus.
  constexpr std::uint64_t kSize = 100'000;
  const RowPermutation permutation(kSize, 3, 0);
  std::vector<int> tenths(10);
  for (std::uint64_t i = 0; i < kSize / 10; ++i) ++tenths[permutation(i) * 10 / kSize];
  for (const int count : tenths) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(RowPermutation, NeverChanges) {
  // Recorded once: runs are resumed by later versions and on other machines.
  const RowPermutation permutation(10, 42, 3);
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 0; i < 10; ++i) order.push_back(permutation(i));
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 8, 5, 3, 0, 6, 2, 9, 7, 4}));
}

}  // namespace
}  // namespace crope::data
