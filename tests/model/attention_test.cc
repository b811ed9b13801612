#include "crope/model/attention.h"

#include "crope/ops/rms_norm.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

TEST(ModelAttention, SplitAndMergeAreInverse) {
  const Tensor x = test::random_tensor({2, 5, 24});
  const Tensor heads = split_heads(x, 3);
  EXPECT_EQ(heads.sizes(), at::IntArrayRef({2, 3, 5, 8}));
  EXPECT_TRUE(at::equal(merge_heads(heads), x));
  // Head h has the pairs 4h to 4h + 3: their real parts, then their imaginary parts.
  EXPECT_TRUE(at::equal(heads[1][2][4], at::cat({x[1][4].narrow(0, 8, 4), x[1][4].narrow(0, 12 + 8, 4)})));
}

Attention random_attention(int64_t D, int64_t H) {
  const auto dense = [&] { return Projection(DenseWeight{test::random_tensor({D, D})}); };
  return {.qkv = {dense(), dense(), dense()},
          .o = dense(),
          .q_norm = test::random_tensor({D / H}),
          .k_norm = test::random_tensor({D / H}),
          .num_heads = H,
          .norm_eps = 1e-6};
}

TEST(ModelAttention, APositionDoesNotSeeTheFuture) {
  const Attention attention = random_attention(16, 2);
  const auto table = ops::rope_table(at::arange(6), 8, 5000, torch::kFloat64);
  const Tensor x = test::random_tensor({1, 6, 16});
  Tensor changed = x.clone();
  changed[0][4] += 1;
  const Tensor before = forward(attention, x, table), after = forward(attention, changed, table);
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 4), after.narrow(1, 0, 4)));
  EXPECT_GT(test::relative_error(after[0][4], before[0][4]), 1e-3);
}

// Relative positions only: shifting all of them changes nothing.
TEST(ModelAttention, DependsOnRelativePositionsOnly) {
  const Attention attention = random_attention(16, 2);
  const Tensor x = test::random_tensor({1, 6, 16});
  const auto at_offset = [&](int64_t offset) {
    return forward(attention, x, ops::rope_table(at::arange(6) + offset, 8, 5000, torch::kFloat64));
  };
  test::expect_close(at_offset(123), at_offset(0), 1e-12);
}

}  // namespace
}  // namespace crope::model
