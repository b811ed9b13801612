#include "crope/ops/rope.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

constexpr double kBase = 5000;

Tensor rotate(const Tensor& x, const Tensor& positions) {
  return rope(x, rope_table(positions, x.size(-1), kBase, x.options()));
}

TEST(Rope, EqualsComplexMultiplication) {
  for (const int64_t K : {2, 6, 64}) {
    const Tensor positions = at::tensor({0, 5, 511, -3, 100000}, torch::kInt64);
    const auto twin = [&](const TensorList& x) { return TensorList{reference::rope(x[0], positions, kBase)}; };
    const auto op = [&](const TensorList& x) { return TensorList{rotate(x[0], positions)}; };
    test::check_against(op, twin, {test::random_tensor({2, 3, 5, K})}, 1e-12);
  }
}

TEST(Rope, GradientsByFiniteDifferences) {
  const Tensor positions = at::tensor({3, 8}, torch::kInt64);
  const TensorList inputs = {test::random_tensor({2, 2, 4})};
  test::check_gradients([&](const TensorList& x) { return TensorList{rotate(x[0], positions)}; }, inputs);
  test::check_gradients([&](const TensorList& x) { return TensorList{reference::rope(x[0], positions, kBase)}; },
                        inputs);
}

// Eq. pe-rope: q_m' k_n depends on m - n only.
TEST(Rope, ScoresDependOnTheDifferenceOfPositionsOnly) {
  const Tensor q = test::random_tensor({1, 16}), k = test::random_tensor({1, 16});
  const auto score = [&](int64_t m, int64_t n) {
    return at::dot(rotate(q, at::tensor({m}))[0], rotate(k, at::tensor({n}))[0]).item<double>();
  };
  for (const int64_t shift : {1, 17, 400, -250}) EXPECT_NEAR(score(7 + shift, 3 + shift), score(7, 3), 1e-11) << shift;
  EXPECT_GT(std::abs(score(8, 3) - score(7, 3)), 1e-3);
}

// Eq. pe-rope and pe-crope0: the real and the complex form of the scores agree,
// q' R_{m-n}' k = Re[q~^H R~*_{m-n} k~].
TEST(Rope, RealAndComplexFormOfTheScoresAgree) {
  const int64_t K = 16, m = 37, n = 5;
  const Tensor q = test::random_tensor({1, K}), k = test::random_tensor({1, K});
  const double real = at::dot(rotate(q, at::tensor({m}))[0], rotate(k, at::tensor({n}))[0]).item<double>();

  const auto complex_of = [&](const Tensor& x) {
    return at::complex(x[0].narrow(0, 0, K / 2), x[0].narrow(0, K / 2, K / 2));
  };
  const Tensor theta = at::pow(kBase, at::arange(0, K, 2, torch::kFloat64) / double(-K));
  const Tensor phase = at::polar(at::ones_like(theta), theta * double(m - n));
  const Tensor complex = (complex_of(q).conj() * phase.conj() * complex_of(k)).sum();
  EXPECT_NEAR(real, at::real(complex).item<double>(), 1e-12);
}

TEST(Rope, PositionZeroIsTheIdentityAndNormsAreKept) {
  const Tensor x = test::random_tensor({3, 8});
  EXPECT_TRUE(at::equal(rotate(x, at::zeros({3}, torch::kInt64)), x));
  test::expect_close(rotate(x, at::tensor({9, 99, 999})).norm(2, {-1}), x.norm(2, {-1}), 1e-14);
}

TEST(Rope, RefusesWidthsAndLengthsThatDoNotFit) {
  EXPECT_THROW(rope_table(at::arange(3), 5, kBase, {}), Error);
  EXPECT_THROW(rope_table(at::arange(3), 0, kBase, {}), Error);
  const RopeTable table = rope_table(at::arange(3), 4, kBase, {});
  EXPECT_THROW(rope(at::zeros({2, 4}), table), Error);
  EXPECT_THROW(rope(at::zeros({3, 6}), table), Error);
}

}  // namespace
}  // namespace crope::ops
