#include "crope/dist/deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace crope::dist {
namespace {

std::vector<double> loads(const std::vector<double>& costs, int ranks) {
  std::vector<double> sums(static_cast<std::size_t>(ranks));
  const std::vector<int> owners = deal(costs, ranks);
  for (std::size_t i = 0; i < costs.size(); ++i) sums.at(static_cast<std::size_t>(owners[i])) += costs[i];
  return sums;
}

TEST(Deal, BalancesCosts) {
  EXPECT_EQ(loads({3, 3, 2, 2, 2}, 2), (std::vector<double>{7, 5}));  // the largest first, each to whom has least
  EXPECT_EQ(loads({1, 1, 1, 1}, 2), (std::vector<double>{2, 2}));
  EXPECT_EQ(loads({5, 1, 1, 1, 1, 1}, 2), (std::vector<double>{5, 5}));
  EXPECT_EQ(loads({4, 2}, 3), (std::vector<double>{4, 2, 0}));
  EXPECT_EQ(deal({}, 3), std::vector<int>());
}

// No rank has more than a fair share and one piece on top.
TEST(Deal, NobodyIsFarAboveTheMean) {
  std::vector<double> costs;
  for (int i = 0; i < 112; ++i) costs.push_back(i % 7 < 4 ? 0.36 : 1.0);
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  for (const int ranks : {1, 2, 3, 4, 16, 100, 1000}) {
    const std::vector<double> sums = loads(costs, ranks);
    EXPECT_LE(std::ranges::max(sums), total / ranks + 1.0) << ranks;
  }
}

TEST(Stretch, CoversAllOnceInOrderOfRank) {
  for (const std::int64_t items : {0, 1, 7, 50304}) {
    for (const int ranks : {1, 2, 3, 8}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Stretch stretch = stretch_of(items, rank, ranks);
        EXPECT_EQ(stretch.first, next);
        EXPECT_LE(std::abs(stretch.count - items / ranks), 1);
        next += stretch.count;
      }
      EXPECT_EQ(next, items);
    }
  }
}

}  // namespace
}  // namespace crope::dist
