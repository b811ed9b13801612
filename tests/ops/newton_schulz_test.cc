#include "crope/ops/newton_schulz.h"

#include <tuple>

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(NewtonSchulz, EqualsItsTwin) {
  for (const auto& [R, C] : {std::tuple<int64_t, int64_t>{1, 1}, {1, 7}, {7, 1}, {8, 8}, {12, 5}, {17, 33}}) {
    const Tensor x = test::random_tensor({R, C});
    test::expect_close(newton_schulz(x), reference::newton_schulz(x), 1e-12);
    const NewtonSchulzOptions options{.steps = 2, .coefficients = {1.5, -0.5, 0.25}};
    test::expect_close(newton_schulz(x, options), reference::newton_schulz(x, options), 1e-12);
  }
}

// The result in bf16 is as far from the exact one as bf16 is from real numbers, for a pair as for its expanded matrix.
TEST(NewtonSchulz, OfAPairInBf16) {
  const ComplexWeight pair{test::random_tensor({6, 9}), test::random_tensor({6, 9})};
  const ComplexWeight got = newton_schulz({pair.a.to(torch::kBFloat16), pair.b.to(torch::kBFloat16)});
  const ComplexWeight exact = reference::newton_schulz(pair);
  EXPECT_EQ(got.a.scalar_type(), torch::kBFloat16);
  test::expect_close(got.a, exact.a, 0.05);
  test::expect_close(got.b, exact.b, 0.05);
}

TEST(NewtonSchulz, OfAPairEqualsThatOfTheExpandedMatrix) {
  for (const auto& [M, N] : {std::tuple<int64_t, int64_t>{1, 1}, {1, 7}, {7, 1}, {8, 8}, {12, 5}, {17, 33}}) {
    const ComplexWeight pair{test::random_tensor({M, N}), test::random_tensor({M, N})};
    const ComplexWeight got = newton_schulz(pair), expected = reference::newton_schulz(pair);
    test::expect_close(got.a, expected.a, 1e-12);
    test::expect_close(got.b, expected.b, 1e-12);
  }
}

TEST(NewtonSchulz, ABatchIsItsMatricesOneByOne) {
  for (const auto& [R, C] : {std::tuple<int64_t, int64_t>{1, 1}, {7, 4}, {8, 8}, {5, 12}}) {
    const Tensor x = test::random_tensor({3, R, C}), b = test::random_tensor({3, R, C});
    const Tensor batch = newton_schulz_batch(x);
    const ComplexWeight pairs = newton_schulz_batch(ComplexWeight{x, b});
    for (int64_t i = 0; i < 3; ++i) {
      test::expect_close(batch[i], reference::newton_schulz(x[i]), 1e-12);
      const ComplexWeight expected = reference::newton_schulz(ComplexWeight{x[i], b[i]});
      test::expect_close(pairs.a[i], expected.a, 1e-12);
      test::expect_close(pairs.b[i], expected.b, 1e-12);
    }
    const ComplexWeight narrow = newton_schulz_batch(ComplexWeight{x.to(torch::kBFloat16), b.to(torch::kBFloat16)});
    test::expect_close(narrow.a, pairs.a, 0.05);
    test::expect_close(narrow.b, pairs.b, 0.05);
  }
  EXPECT_THROW(newton_schulz_batch(test::random_tensor({3, 3})), Error);
}

// The tie survives the iteration on the expanded matrix: nothing is lost by contracting it.
TEST(NewtonSchulz, KeepsTheTie) {
  const ComplexWeight pair{test::random_tensor({6, 9}), test::random_tensor({6, 9})};
  const Tensor expanded = newton_schulz(expand(pair));
  test::expect_close(expand(contract(expanded)), expanded, 1e-13);
}

// The tuned coefficients send singular values into about [0.7, 1.2] and leave singular vectors alone.
TEST(NewtonSchulz, ApproachesThePolarFactor) {
  for (const auto& [R, C] : {std::tuple<int64_t, int64_t>{16, 16}, {10, 30}, {30, 10}}) {
    const Tensor x = test::random_tensor({R, C});
    const Tensor y = newton_schulz(x);
    const Tensor values = at::linalg_svdvals(y);
    EXPECT_GT(values.min().item<double>(), 0.5);
    EXPECT_LT(values.max().item<double>(), 1.3);
    const auto [u, s, vh] = at::linalg_svd(x, /*full_matrices=*/false);
    const Tensor rotated = u.t().mm(y).mm(vh.t());
    test::expect_close(rotated, at::diag(at::diag(rotated)), 1e-9);
  }
}

TEST(NewtonSchulz, DoesNotDependOnTheScale) {
  const Tensor x = test::random_tensor({5, 8});
  test::expect_close(newton_schulz(x * 1000), newton_schulz(x), 1e-12);
}

TEST(NewtonSchulz, OfZeroIsZero) {
  EXPECT_TRUE(at::equal(newton_schulz(at::zeros({3, 4})), at::zeros({3, 4})));
  EXPECT_TRUE(at::equal(newton_schulz(ComplexWeight{at::zeros({3, 4}), at::zeros({3, 4})}).a, at::zeros({3, 4})));
}

TEST(NewtonSchulz, RefusesOtherThanMatrices) {
  EXPECT_THROW(newton_schulz(at::zeros({3})), Error);
  EXPECT_THROW(newton_schulz(ComplexWeight{at::zeros({3, 4}), at::zeros({4, 3})}), Error);
}

}  // namespace
}  // namespace crope::ops
