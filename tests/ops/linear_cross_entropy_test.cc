#include "crope/ops/linear_cross_entropy.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

// One chunk, several chunks, and a last chunk of one row: with V = 300,000 a chunk has 64 rows.
TEST(LinearCrossEntropy, EqualsTheWholeMatrixOfLogits) {
  for (const auto& [R, D, V] : {std::tuple<int64_t, int64_t, int64_t>{1, 3, 2}, {50, 8, 97}, {129, 2, 300'000}}) {
    const Tensor targets = at::randint(V, {R}, torch::kInt64);
    test::check_against(
        [&](const TensorList& x) { return TensorList{linear_cross_entropy(x[0], x[1], targets)}; },
        [&](const TensorList& x) { return TensorList{reference::linear_cross_entropy(x[0], x[1], targets)}; },
        {test::random_tensor({R, D}), test::random_tensor({V, D})}, 1e-12);
  }
}

TEST(LinearCrossEntropy, GradientsByFiniteDifferences) {
  const Tensor targets = at::tensor({1, 4, 0}, torch::kInt64);
  const TensorList inputs = {test::random_tensor({3, 2}), test::random_tensor({5, 2})};
  test::check_gradients([&](const TensorList& x) { return TensorList{linear_cross_entropy(x[0], x[1], targets)}; },
                        inputs);
  test::check_gradients(
      [&](const TensorList& x) { return TensorList{reference::linear_cross_entropy(x[0], x[1], targets)}; }, inputs);
}

TEST(LinearCrossEntropy, GradientFollowsTheScaleOfTheLoss) {
  const Tensor x = test::random_tensor({3, 2}).requires_grad_(), weight = test::random_tensor({5, 2});
  const Tensor targets = at::tensor({1, 4, 0}, torch::kInt64);
  const Tensor once = torch::autograd::grad({linear_cross_entropy(x, weight, targets)}, {x})[0];
  const Tensor thrice = torch::autograd::grad({linear_cross_entropy(x, weight, targets) * 3}, {x})[0];
  test::expect_close(thrice, once * 3, 1e-14);
}

TEST(LinearCrossEntropy, IsFiniteForHugeLogits) {
  const Tensor x = at::full({2, 2}, 1e4), weight = at::tensor({1.0f, 1.0f, -1.0f, -1.0f}).view({2, 2});
  EXPECT_EQ(linear_cross_entropy(x, weight, at::zeros({2}, torch::kInt64)).item<float>(), 0);
  EXPECT_EQ(linear_cross_entropy(x, weight, at::ones({2}, torch::kInt64)).item<float>(), 4e4);
}

TEST(LinearCrossEntropy, TokenLossesHaveTheLossAsTheirMean) {
  const Tensor x = test::random_tensor({70, 4}), weight = test::random_tensor({300'000, 4});
  const Tensor targets = at::randint(300'000, {70}, torch::kInt64);
  const Tensor losses = linear_token_losses(x, weight, targets);
  EXPECT_EQ(losses.sizes(), at::IntArrayRef({70}));
  test::expect_close(losses.mean(), reference::linear_cross_entropy(x, weight, targets), 1e-12);
}

TEST(LinearCrossEntropy, RefusesShapesThatDisagree) {
  const Tensor targets = at::zeros({2}, torch::kInt64);
  EXPECT_THROW(linear_cross_entropy(at::zeros({2, 3}), at::zeros({5, 4}), targets), Error);
  EXPECT_THROW(linear_cross_entropy(at::zeros({3, 4}), at::zeros({5, 4}), targets), Error);
  EXPECT_THROW(linear_cross_entropy(at::zeros({0, 4}), at::zeros({5, 4}), at::zeros({0}, torch::kInt64)), Error);
}

}  // namespace
}  // namespace crope::ops
