#include "crope/ops/linear.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

TensorList two_linear_layers(const TensorList& x) {
  return ops::linear(x[0], std::vector<Tensor>{x[1], x[2]});
}
TensorList two_linear_twins(const TensorList& x) {
  return {reference::linear(x[0], x[1]), reference::linear(x[0], x[2])};
}

TEST(Linear, EqualsItsTwin) {
  for (const int64_t R : {1, 2, 17}) {
    for (const int64_t N : {1, 3, 16}) {
      const TensorList inputs = {test::random_tensor({R, 2, N}), test::random_tensor({5, N}),
                                 test::random_tensor({1, N})};
      test::check_against(two_linear_layers, two_linear_twins, inputs, 1e-12);
    }
  }
}

TEST(Linear, GradientsByFiniteDifferences) {
  const TensorList inputs = {test::random_tensor({2, 3, 4}), test::random_tensor({2, 4}), test::random_tensor({3, 4})};
  test::check_gradients(two_linear_layers, inputs);
  test::check_gradients(two_linear_twins, inputs);
}

// Results are columns of one matrix, so that what follows can hand back one gradient for all.
TEST(Linear, ResultsAreSlicesOfOneMatrix) {
  const TensorList y =
      two_linear_layers({test::random_tensor({4, 6}), test::random_tensor({3, 6}), test::random_tensor({2, 6})});
  EXPECT_TRUE(y[0].is_alias_of(y[1]));
  EXPECT_EQ(y[1].storage_offset() - y[0].storage_offset(), 3);
  EXPECT_EQ(y[0].stride(0), 5);
}

TEST(Linear, OneUnusedOutputStillGivesTheOthersGradient) {
  const TensorList inputs = {test::random_tensor({3, 4}), test::random_tensor({2, 4}), test::random_tensor({5, 4})};
  TensorList leaves;
  for (const Tensor& x : inputs) leaves.push_back(x.clone().requires_grad_());
  const TensorList grads = torch::autograd::grad({two_linear_layers(leaves)[1].sum()}, {leaves[0], leaves[2]});
  test::expect_close(grads[0], leaves[2].detach().sum(0).expand({3, 4}), 1e-14);
  test::expect_close(grads[1], leaves[0].detach().sum(0).expand({5, 4}), 1e-14);
}

TEST(Linear, RefusesAnotherWidth) {
  EXPECT_THROW(ops::linear(at::zeros({2, 3}), at::zeros({4, 2})), Error);
  EXPECT_THROW(ops::linear(at::zeros({2, 3}), at::zeros({3})), Error);
}

}  // namespace
}  // namespace crope::ops
