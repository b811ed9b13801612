#include "crope/ops/rotary_attention.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

constexpr double kRotaryBase = 5000;

struct RotaryCase {
  int64_t B, T, H, K, Kv;
  int64_t G = H;

  RotaryAttentionOptions options() const {
    return {.num_heads = H, .scale = 0.4, .norm_eps = 1e-6, .num_kv_heads = G == H ? 0 : G};
  }
};

TensorList random_rotary_inputs(const RotaryCase& c) {
  return {test::random_tensor({c.B, c.T, c.H * c.K}), test::random_tensor({c.B, c.T, c.G * c.K}),
          test::random_tensor({c.B, c.T, c.G * c.Kv}), test::random_tensor({c.K}), test::random_tensor({c.K})};
}

// inputs: q, k, v and, unless there are three of them, the gains.
test::Operation rotary_operation(const RotaryCase& c) {
  return [c](const TensorList& x) {
    const RopeTable table = rope_table(at::arange(c.T), c.K, kRotaryBase, x[0].options());
    const bool gains = x.size() == 5;
    return TensorList{
        rotary_attention(x[0], x[1], x[2], gains ? x[3] : Tensor(), gains ? x[4] : Tensor(), table, c.options())};
  };
}
test::Operation rotary_twin(const RotaryCase& c) {
  return [c](const TensorList& x) {
    const bool gains = x.size() == 5;
    return TensorList{reference::rotary_attention(x[0], x[1], x[2], gains ? x[3] : Tensor(), gains ? x[4] : Tensor(),
                                                  at::arange(c.T), kRotaryBase, c.options())};
  };
}

TEST(RotaryAttention, EqualsItsTwin) {
  for (const RotaryCase& c : {RotaryCase{2, 7, 3, 6, 10}, RotaryCase{1, 33, 2, 8, 4}, RotaryCase{2, 5, 1, 2, 2},
                              RotaryCase{2, 7, 6, 4, 6, 2}, RotaryCase{1, 9, 4, 6, 4, 1}}) {
    TensorList inputs = random_rotary_inputs(c);
    test::check_against(rotary_operation(c), rotary_twin(c), inputs, 1e-11);
    inputs.resize(3);  // without QK-norm
    test::check_against(rotary_operation(c), rotary_twin(c), inputs, 1e-11);
  }
}

TEST(RotaryAttention, GradientsByFiniteDifferences) {
  const RotaryCase c{1, 4, 2, 4, 2};
  test::check_gradients(rotary_operation(c), random_rotary_inputs(c));
  test::check_gradients(rotary_twin(c), random_rotary_inputs(c));
  const RotaryCase grouped{1, 3, 4, 2, 4, 2};
  test::check_gradients(rotary_operation(grouped), random_rotary_inputs(grouped));
  test::check_gradients(rotary_twin(grouped), random_rotary_inputs(grouped));
}

// Heads that share keys and values are heads with equal ones.
TEST(RotaryAttention, GroupsReadTheKeysAndValuesOfTheirHead) {
  const RotaryCase grouped{2, 5, 6, 4, 6, 2}, repeated{2, 5, 6, 4, 6};
  TensorList x = random_rotary_inputs(grouped);
  const Tensor expected = rotary_operation(grouped)(x)[0];
  for (const std::size_t i : {1, 2}) x[i] = merge_heads(split_heads(x[i], 2).repeat_interleave(3, 1));
  test::expect_close(rotary_operation(repeated)(x)[0], expected, 1e-14);
}

TEST(RotaryAttention, APositionDoesNotSeeTheFuture) {
  const RotaryCase c{1, 6, 2, 4, 4};
  TensorList inputs = random_rotary_inputs(c);
  const Tensor before = rotary_operation(c)(inputs)[0];
  for (int i = 0; i < 3; ++i) inputs[i] = inputs[i].clone(), inputs[i][0][5] += 1;
  const Tensor after = rotary_operation(c)(inputs)[0];
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 5), after.narrow(1, 0, 5)));
  EXPECT_GT(test::relative_error(after[0][5], before[0][5]), 1e-3);
}

TEST(RotaryAttention, OneGainWithoutTheOtherIsTakenLiterally) {
  const RotaryCase c{1, 5, 1, 4, 4};
  const TensorList x = random_rotary_inputs(c);
  const RopeTable table = rope_table(at::arange(c.T), c.K, kRotaryBase, x[0].options());
  const RotaryAttentionOptions options{.num_heads = 1, .scale = 0.4};
  test::expect_close(rotary_attention(x[0], x[1], x[2], x[3], {}, table, options),
                     reference::rotary_attention(x[0], x[1], x[2], x[3], {}, at::arange(c.T), kRotaryBase, options),
                     1e-12);
}

TEST(RotaryAttention, SplitAndMergeAreInverse) {
  const Tensor x = test::random_tensor({2, 3, 12});
  EXPECT_TRUE(at::equal(merge_heads(split_heads(x, 2)), x));
  EXPECT_EQ(split_heads(x, 2).sizes(), at::IntArrayRef({2, 2, 3, 6}));
}

TEST(RotaryAttention, RefusesShapesThatDisagree) {
  const Tensor x = at::zeros({1, 3, 8});
  const RopeTable table = rope_table(at::arange(3), 4, kRotaryBase, {});
  const RotaryAttentionOptions options{.num_heads = 2, .scale = 1};
  const Tensor gain = at::ones({4});
  EXPECT_NO_THROW(rotary_attention(x, x, x, gain, gain, table, options));
  EXPECT_THROW(rotary_attention(x[0], x[0], x[0], gain, gain, table, options), Error);
  EXPECT_THROW(rotary_attention(x, at::zeros({1, 4, 8}), x, gain, gain, table, options), Error);
  EXPECT_THROW(rotary_attention(x, x, at::zeros({1, 2, 8}), gain, gain, table, options), Error);
  EXPECT_THROW(rotary_attention(x, x, x, at::ones({8}), gain, table, options), Error);
  const Tensor shared = at::zeros({1, 3, 4});
  const RotaryAttentionOptions grouped{.num_heads = 2, .scale = 1, .num_kv_heads = 1};
  EXPECT_NO_THROW(rotary_attention(x, shared, shared, gain, gain, table, grouped));
  EXPECT_THROW(rotary_attention(x, x, shared, gain, gain, table, grouped), Error);
  const RotaryAttentionOptions odd{.num_heads = 2, .scale = 1, .num_kv_heads = 3};
  EXPECT_THROW(rotary_attention(x, x, x, gain, gain, table, odd), Error);
  EXPECT_THROW(rotary_attention(x, x, x, gain, gain, rope_table(at::arange(4), 4, kRotaryBase, {}), options), Error);
}

}  // namespace
}  // namespace crope::ops
