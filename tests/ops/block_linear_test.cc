#include "crope/ops/block_linear.h"

#include <tuple>

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

// Rows, pairs in, pairs out.
class BlockLinearSizes : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

TEST_P(BlockLinearSizes, EqualsTheExpandedMatrix) {
  const auto [R, N, M] = GetParam();
  const TensorList inputs = {test::random_tensor({R, 2 * N}), test::random_tensor({M, N}), test::random_tensor({M, N})};
  test::check_against(
      [](const TensorList& x) {
        return TensorList{block_linear(x[0], {x[1], x[2]})};
      },
      [](const TensorList& x) {
        return TensorList{reference::block_linear(x[0], {x[1], x[2]})};
      },
      inputs, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Odd, BlockLinearSizes,
                         testing::Combine(testing::Values(1, 2, 17), testing::Values(1, 3, 16),
                                          testing::Values(1, 5, 32)));

TEST(BlockLinear, GradientsByFiniteDifferences) {
  const TensorList inputs = {test::random_tensor({2, 3, 6}), test::random_tensor({4, 3}), test::random_tensor({4, 3})};
  test::check_gradients([](const TensorList& x) { return TensorList{block_linear(x[0], {x[1], x[2]})}; }, inputs);
  test::check_gradients(
      [](const TensorList& x) {
        return TensorList{reference::block_linear(x[0], {x[1], x[2]})};
      },
      inputs);
}

// Docs: each block is multiplication by a - ib.
TEST(BlockLinear, IsComplexMultiplication) {
  const Tensor x = test::random_tensor({5, 8}), a = test::random_tensor({3, 4}), b = test::random_tensor({3, 4});
  const Tensor z = at::complex(x.narrow(1, 0, 4).contiguous(), x.narrow(1, 4, 4).contiguous());
  const Tensor expected = at::matmul(z, at::complex(a, -b).t());
  const Tensor y = block_linear(x, {a, b});
  test::expect_close(y.narrow(1, 0, 3), at::real(expected), 1e-14);
  test::expect_close(y.narrow(1, 3, 3), at::imag(expected), 1e-14);
}

TEST(BlockLinear, CommutesWithAGlobalPhase) {
  const Tensor x = test::random_tensor({5, 8}), a = test::random_tensor({3, 4}), b = test::random_tensor({3, 4});
  const auto turn = [](const Tensor& halves) {
    const TensorList h = halves.chunk(2, -1);
    const double c = std::cos(0.9), s = std::sin(0.9);
    return at::cat({h[0] * c - h[1] * s, h[0] * s + h[1] * c}, -1);
  };
  test::expect_close(block_linear(turn(x), {a, b}), turn(block_linear(x, {a, b})), 1e-14);
}

// The paper's BlockLinear with tied=False: four independent entries a block are a dense layer, so a dense layer is a
// complex-linear one exactly when nothing is lost by contracting it.
TEST(BlockLinear, AnUntiedBlockLayerIsLinear) {
  const Tensor x = test::random_tensor({5, 8}), dense = test::random_tensor({6, 8});
  const TensorList rows = dense.chunk(2, 0), in = x.chunk(2, 1);
  const auto quarter = [&](int row, int column) { return rows[row].narrow(1, 4 * column, 4); };
  const Tensor re = at::matmul(in[0], quarter(0, 0).t()) + at::matmul(in[1], quarter(0, 1).t());
  const Tensor im = at::matmul(in[0], quarter(1, 0).t()) + at::matmul(in[1], quarter(1, 1).t());
  test::expect_close(at::cat({re, im}, 1), at::linear(x, dense), 1e-14);
}

TEST(BlockLinear, SeveralLayersEqualOneAtATime) {
  const TensorList inputs = {test::random_tensor({2, 3, 8}), test::random_tensor({4, 4}), test::random_tensor({4, 4}),
                             test::random_tensor({1, 4}), test::random_tensor({1, 4})};
  const auto as_one_call = [](const TensorList& x) {
    const std::array weights = {ComplexWeight{x[1], x[2]}, ComplexWeight{x[3], x[4]}};
    return block_linear(x[0], weights);
  };
  const auto one_by_one = [](const TensorList& x) {
    return TensorList{reference::block_linear(x[0], {x[1], x[2]}), reference::block_linear(x[0], {x[3], x[4]})};
  };
  test::check_against(as_one_call, one_by_one, inputs, 1e-12);
}

TEST(BlockLinear, OneUnusedOutputStillGivesTheOthersGradient) {
  const Tensor x = test::random_tensor({3, 4}).requires_grad_();
  const ComplexWeight used{test::random_tensor({2, 2}), test::random_tensor({2, 2})};
  const ComplexWeight unused{test::random_tensor({2, 2}).requires_grad_(), test::random_tensor({2, 2})};
  const std::array weights = {used, unused};
  const Tensor got = torch::autograd::grad({block_linear(x, weights)[0].sum()}, {x})[0];
  const Tensor expected = torch::autograd::grad({reference::block_linear(x, used).sum()}, {x})[0];
  test::expect_close(got, expected, 1e-14);
}

TEST(BlockLinear, KeepsLeadingDimensionsAndTakesNonContiguousInput) {
  const Tensor x = test::random_tensor({2, 8, 3}).transpose(1, 2), a = test::random_tensor({5, 4}), b = -a;
  const Tensor y = block_linear(x, {a, b});
  EXPECT_EQ(y.sizes(), at::IntArrayRef({2, 3, 10}));
  test::expect_close(y, reference::block_linear(x, {a, b}), 1e-14);
}

TEST(BlockLinear, RefusesShapesThatDisagree) {
  const Tensor a = at::zeros({2, 3});
  EXPECT_THROW(block_linear(at::zeros({4, 5}), {a, a}), Error);
  EXPECT_THROW(block_linear(at::zeros({4, 8}), {a, a}), Error);
  EXPECT_THROW(block_linear(at::zeros({4, 6}), {a, at::zeros({3, 2})}), Error);
}

TEST(BlockLinear, ContractIsTheInverseOfExpandAndTheNearestPair) {
  const ComplexWeight pair{test::random_tensor({3, 5}), test::random_tensor({3, 5})};
  const ComplexWeight back = contract(expand(pair));
  EXPECT_TRUE(at::equal(back.a, pair.a));
  EXPECT_TRUE(at::equal(back.b, pair.b));

  const Tensor dense = test::random_tensor({6, 10});
  const Tensor residual = dense - expand(contract(dense));
  // The rest is orthogonal to every tied matrix.
  EXPECT_NEAR((residual * expand(pair)).sum().item<double>(), 0, 1e-12);
}

}  // namespace
}  // namespace crope::ops
