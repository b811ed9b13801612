#include "crope/infer/row_buffer.h"

#include <gtest/gtest.h>

namespace crope::infer {
namespace {

RowBuffer numbered(std::int64_t rows, std::int64_t width) {
  RowBuffer buffer;
  buffer.resize(rows, width);
  for (std::int64_t r = 0; r < rows; ++r) std::fill_n(buffer.view().row(r), width, static_cast<float>(r));
  return buffer;
}

TEST(RowBuffer, RowsAreThoseOfTheTensor) {
  const RowBuffer buffer = numbered(5, 3);
  const at::Tensor expected = at::arange(5, at::kFloat).unsqueeze(1).expand({5, 3});
  EXPECT_TRUE(buffer.tensor().equal(expected));
}

TEST(RowBuffer, FewerRowsTakeNoNewMemory) {
  RowBuffer buffer = numbered(6, 4);
  const float* before = buffer.view().row(0);
  buffer.resize(2, 4);
  EXPECT_EQ(buffer.view().row(0), before);
  EXPECT_EQ(buffer.tensor().size(0), 2);
}

TEST(RowBuffer, KeepsTheRowsOfPieces) {
  RowBuffer buffer = numbered(10, 7);
  const std::pair<std::int64_t, std::int64_t> pieces[] = {{1, 1}, {2, 4}, {5, 9}, {10, 10}};
  EXPECT_EQ(buffer.keep(pieces), 6);
  const at::Tensor expected = at::tensor({2.f, 3.f, 5.f, 6.f, 7.f, 8.f}).unsqueeze(1).expand({6, 7});
  EXPECT_TRUE(buffer.tensor().equal(expected));
}

}  // namespace
}  // namespace crope::infer
