#include "crope/base/rounding.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace crope {
namespace {

TEST(Rounding, DividesAndRoundsUp) {
  EXPECT_EQ(divide_up(0, 4), 0);
  EXPECT_EQ(divide_up(1, 4), 1);
  EXPECT_EQ(divide_up(8, 4), 2);
  EXPECT_EQ(divide_up(9, 4), 3);
  EXPECT_EQ(round_up(std::size_t{0}, 16), 0u);
  EXPECT_EQ(round_up(std::size_t{17}, 16), 32u);
  EXPECT_EQ(round_up(std::int64_t{32}, 16), 32);
}

TEST(Rounding, PiecesAreFewAndNearlyAlike) {
  for (const int value : {1, 5, 96, 97, 1000}) {
    for (const int most : {1, 3, 96, 2000}) {
      const int piece = even_piece(value, most), pieces = divide_up(value, most);
      EXPECT_LE(piece, most) << value << " by " << most;
      EXPECT_EQ(divide_up(value, piece), pieces) << value << " by " << most;
    }
  }
  EXPECT_EQ(even_piece(100, 96), 50);
}

}  // namespace
}  // namespace crope
