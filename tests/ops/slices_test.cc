#include "crope/ops/slices.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(Slices, ColumnsOfOneMatrixStayTogether) {
  const Tensor wide = at::arange(60, torch::kFloat32).view({4, 15});
  const std::vector<Tensor> slices = {wide.narrow(1, 0, 5), wide.narrow(1, 5, 7), wide.narrow(1, 12, 3)};
  const auto joined = joined_columns(slices);
  ASSERT_TRUE(joined.has_value());
  EXPECT_TRUE(at::equal(*joined, wide));
  const std::vector<Tensor> made = empty_like_slices(slices);
  ASSERT_EQ(made.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(made[i].sizes(), slices[i].sizes());
  const auto again = joined_columns(made);
  ASSERT_TRUE(again.has_value());
  EXPECT_NE(again->data_ptr(), wide.data_ptr());
}

TEST(Slices, OthersDoNot) {
  const Tensor wide = at::zeros({4, 15}), other = at::zeros({4, 5});
  EXPECT_FALSE(joined_columns({wide.narrow(1, 0, 5), wide.narrow(1, 6, 5)}).has_value()) << "a gap";
  EXPECT_FALSE(joined_columns({wide.narrow(1, 5, 5), wide.narrow(1, 0, 5)}).has_value()) << "the wrong order";
  EXPECT_FALSE(joined_columns({wide.narrow(1, 0, 5), other}).has_value()) << "two matrices";
  EXPECT_FALSE(joined_columns({wide.narrow(0, 0, 2), wide.narrow(0, 2, 2)}).has_value()) << "rows";
  const std::vector<Tensor> made = empty_like_slices({wide.narrow(1, 0, 5), other});
  EXPECT_TRUE(made[0].is_contiguous());
  EXPECT_FALSE(made[0].is_alias_of(made[1]));
  EXPECT_TRUE(empty_like_slices({wide.narrow(0, 0, 2), wide.narrow(0, 2, 2)})[1].is_contiguous());
}

TEST(Slices, RowsOfASliceAreAView) {
  const Tensor wide = at::zeros({2, 3, 10});
  const Tensor slice = wide.narrow(-1, 4, 3);
  EXPECT_EQ(as_rows(slice).data_ptr(), slice.data_ptr());
  EXPECT_EQ(as_rows(slice).sizes(), at::IntArrayRef({6, 3}));
  EXPECT_TRUE(as_rows(wide.transpose(1, 2)).is_contiguous());
}

}  // namespace
}  // namespace crope::ops
