#include "crope/ops/error_feedback.h"

#include "crope/base/error.h"
#include "crope/ops/block_linear.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Inputs that lie near a few directions, as those of trained models do.
Tensor correlated_inputs(int64_t rows, int64_t width) {
  return at::matmul(at::randn({rows, 8}), at::randn({8, width})) + 0.3 * at::randn({rows, width});
}

Tensor moments_of(const Tensor& x) {
  return at::matmul(x.t(), x) / x.size(0);
}

TEST(ErrorFeedback, ProductsChangeLessThanWithPlainRounding) {
  for (const auto& [M, N] : {std::pair<int64_t, int64_t>{48, 96}, {20, 33}, {7, 64}}) {
    const Tensor weight = at::randn({M, N}), x = correlated_inputs(400, N);
    const Tensor expected = at::linear(x, weight);
    const auto error_of = [&](const QuantisedMatrix& matrix) {
      return test::relative_error(at::linear(x, widened(matrix)), expected);
    };
    const double plain = error_of(quantised(weight, WeightType::int4));
    EXPECT_LT(error_of(quantised_with_feedback(weight, moments_of(x))), 0.7 * plain) << M << " " << N;
  }
}

TEST(ErrorFeedback, APairIsRoundedForBothHalvesOfItsInput) {
  for (const auto& [M, N] : {std::pair<int64_t, int64_t>{24, 64}, {10, 33}}) {
    const Tensor a = at::randn({M, N}), b = at::randn({M, N}), x = correlated_inputs(400, 2 * N);
    const Tensor expected = at::linear(x, expand({a, b}));
    const auto error_of = [&](const QuantisedMatrix& real, const QuantisedMatrix& imaginary) {
      return test::relative_error(at::linear(x, expand({widened(real), widened(imaginary)})), expected);
    };
    const auto [real, imaginary] = quantised_with_feedback(a, b, moments_of(x));
    EXPECT_EQ(real.N, N);
    EXPECT_LT(error_of(real, imaginary),
              0.8 * error_of(quantised(a, WeightType::int4), quantised(b, WeightType::int4)));
  }
}

// With inputs that have nothing to do with each other there is nothing to make good.
TEST(ErrorFeedback, WithoutCorrelationsItIsAsGoodAsPlainRounding) {
  const Tensor weight = at::randn({32, 70});
  const double plain = test::relative_error(widened(quantised(weight, WeightType::int4)), weight);
  for (const Tensor& moments : {at::eye(70), at::zeros({70, 70})}) {
    EXPECT_LE(test::relative_error(widened(quantised_with_feedback(weight, moments)), weight), 1.0001 * plain);
  }
  EXPECT_TRUE(at::equal(widened(quantised_with_feedback(at::zeros({4, 40}), at::eye(40))), at::zeros({4, 40})));
}

TEST(ErrorFeedback, WhatIsNotFiniteIsRefused) {
  Tensor weight = at::randn({4, 40}), moments = at::eye(40);
  moments[3][3] = INFINITY;
  EXPECT_THROW(quantised_with_feedback(weight, moments), Error);
  weight[1][2] = NAN;
  EXPECT_THROW(quantised_with_feedback(weight, at::eye(40)), Error);
}

}  // namespace
}  // namespace crope::ops
