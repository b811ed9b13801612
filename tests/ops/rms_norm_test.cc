#include "crope/ops/rms_norm.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

constexpr double kEps = 1e-6;

TensorList norm(const TensorList& x) {
  return {rms_norm(x[0], x[1], kEps)};
}
TensorList norm_twin(const TensorList& x) {
  return {reference::rms_norm(x[0], x[1], kEps)};
}

TEST(RmsNorm, EqualsItsTwin) {
  for (const int64_t N : {2, 7, 64}) {
    test::check_against(norm, norm_twin, {test::random_tensor({3, 5, N}), test::random_tensor({N})}, 1e-12);
  }
}

// One number is normalised to nearly its sign; its gradient is nearly zero, a difference of equal numbers.
TEST(RmsNorm, OfOneNumber) {
  const TensorList inputs = {test::random_tensor({9, 1}), at::ones({1}, torch::kFloat64)};
  test::expect_close(norm(inputs)[0], inputs[0] / at::sqrt(inputs[0].square() + kEps), 1e-14);
  const Tensor difference = test::autograd_gradients(norm, inputs)[0] - test::autograd_gradients(norm_twin, inputs)[0];
  // The numbers that cancel are as large as 1 / |x|.
  EXPECT_LT((difference * inputs[0]).abs().max().item<double>(), 1e-14);
}

TEST(RmsNorm, GradientsByFiniteDifferences) {
  const TensorList inputs = {test::random_tensor({2, 3, 5}), test::random_tensor({5})};
  test::check_gradients(norm, inputs);
  test::check_gradients(norm_twin, inputs);
}

TEST(RmsNorm, OfZerosIsZeroAndOfTinyNumbersIsDampedByEps) {
  EXPECT_TRUE(at::equal(rms_norm(at::zeros({2, 4}), at::ones({4}), kEps), at::zeros({2, 4})));
  const Tensor tiny = at::full({1, 4}, 1e-3, torch::kFloat64);
  test::expect_close(rms_norm(tiny, at::ones({4}, torch::kFloat64), kEps),
                     at::full({1, 4}, std::sqrt(0.5), torch::kFloat64), 1e-12);
}

TEST(RmsNorm, MeanOfBf16IsTakenInFp32) {
  const Tensor x = at::randn({4, 1024}).to(torch::kBFloat16), gain = at::ones({1024}, torch::kBFloat16);
  const Tensor expected = reference::rms_norm(x.to(torch::kFloat64), gain.to(torch::kFloat64), kEps);
  EXPECT_EQ(rms_norm(x, gain, kEps).scalar_type(), torch::kBFloat16);
  test::expect_close(rms_norm(x, gain, kEps), expected, 4e-3);  // half a bf16 step: 2^-8
}

TEST(RmsNorm, RefusesAnotherWidth) {
  EXPECT_THROW(rms_norm(at::zeros({2, 4}), at::ones({5}), kEps), Error);
}

}  // namespace
}  // namespace crope::ops
