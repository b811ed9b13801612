#include "crope/model/pair_layout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>

namespace crope::model {
namespace {

TEST(PairLayout, MovesPairsToHalves) {
  const std::array<int, 1> first = {0};
  const auto pairs = at::tensor({0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(at::equal(pairs_to_halves(pairs, first), at::tensor({0, 2, 4, 1, 3, 5})));
}

TEST(PairLayout, IsInvertedOnEveryChoiceOfDimensions) {
  const auto x = at::randn({4, 6, 2});
  for (const std::vector<int>& dimensions : {std::vector<int>{}, {0}, {1}, {0, 1}, {0, 2}, {0, 1, 2}}) {
    EXPECT_TRUE(at::equal(halves_to_pairs(pairs_to_halves(x, dimensions), dimensions), x));
  }
}

TEST(PairLayout, ChangesTypeOnTheWay) {
  const auto x = at::randn({4, 6});
  const std::array<int, 2> both = {0, 1};
  EXPECT_TRUE(at::equal(pairs_to_halves(x, both, at::kBFloat16), pairs_to_halves(x, both).to(at::kBFloat16)));
  EXPECT_TRUE(pairs_to_halves(x, {}, at::kFloat).is_same(x));
}

TEST(PairLayout, WithoutPairsNothingIsCopied) {
  const auto x = at::randn({4, 6});
  EXPECT_TRUE(pairs_to_halves(x, {}).is_same(x));
}

}  // namespace
}  // namespace crope::model
