#include "crope/model/complex_structure.h"

#include "crope/base/error.h"
#include "crope/ops/block_linear.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

Tensor random_orthogonal(int64_t D) {
  return std::get<0>(at::linalg_qr(test::random_tensor({D, D})));
}

void expect_structure(const Tensor& J) {
  const Tensor identity = at::eye(J.size(0), at::kDouble);
  test::expect_close(J.mm(J.t()), identity, 1e-10, "orthogonal");
  test::expect_close(J.mm(J), -identity, 1e-10, "J^2 = -1");
}

double energy(const Tensor& matrix) {
  return matrix.square().sum().item<double>();
}

TEST(ComplexStructure, TiedMatricesAreComplexLinearUnderTheGivenOne) {
  const Tensor tied = ops::expand({test::random_tensor({5, 4}), test::random_tensor({5, 4})});
  const Tensor J = given_structure(8);
  expect_structure(J);
  test::expect_close(complex_linear_part(tied, J), tied, 1e-14);
  const Tensor dense = test::random_tensor({10, 8});
  test::expect_close(complex_linear_part(dense, J), ops::expand(ops::contract(dense)), 1e-14);
}

TEST(ComplexStructure, FindsTheOneThatWasHidden) {
  const Tensor tied = ops::expand({test::random_tensor({40, 7}), test::random_tensor({40, 7})});
  const Tensor R = random_orthogonal(14), turned = tied.mm(R);
  const Tensor J = best_structure(orientation(turned));
  expect_structure(J);
  test::expect_close(J, R.t().mm(given_structure(14)).mm(R), 1e-9);
  test::expect_close(complex_linear_part(turned, J), turned, 1e-9);
  EXPECT_NEAR(best_agreement(orientation(turned)), energy(turned) / 2, 1e-9 * energy(turned));
}

TEST(ComplexStructure, NoOtherIsBetter) {
  const Tensor matrix = test::random_tensor({12, 10});
  const Tensor J = best_structure(orientation(matrix));
  const double best = agreements(matrix, J).sum().item<double>();
  EXPECT_NEAR(best, best_agreement(orientation(matrix)), 1e-10);
  for (int round = 0; round < 50; ++round) {
    const Tensor R = random_orthogonal(10);
    const Tensor other = R.t().mm(given_structure(10)).mm(R);
    EXPECT_LT(agreements(matrix, other).sum().item<double>(), best);
  }
  // Nor one close by.
  for (int round = 0; round < 50; ++round) {
    const Tensor noise = 1e-2 * test::random_tensor({10, 10});
    const Tensor R = at::matrix_exp(noise - noise.t());
    EXPECT_LE(agreements(matrix, R.t().mm(J).mm(R)).sum().item<double>(), best + 1e-12);
  }
}

// One layer's keys may leave most of the stream untouched: three pairs of rows span six of sixteen directions.
TEST(ComplexStructure, IsCompletedWhereNothingIsKnown) {
  const Tensor matrix = test::random_tensor({6, 16});
  const Tensor J = best_structure(orientation(matrix));
  expect_structure(J);
  EXPECT_NEAR(agreements(matrix, J).sum().item<double>(), best_agreement(orientation(matrix)), 1e-10);
  expect_structure(best_structure(at::zeros({4, 4}, at::kDouble)));
}

TEST(ComplexStructure, PartsOfAPairAreOrthogonalAndHaveTheStatedEnergy) {
  const Tensor matrix = test::random_tensor({6, 8});
  const Tensor R = random_orthogonal(8), J = R.t().mm(given_structure(8)).mm(R);
  const Tensor part = complex_linear_part(matrix, J);
  EXPECT_NEAR((part * (matrix - part)).sum().item<double>(), 0, 1e-12);
  EXPECT_NEAR(energy(part), energy(matrix) / 2 + agreements(matrix, J).sum().item<double>(), 1e-12);
}

TEST(ComplexStructure, ATurnMakesItTheGivenOne) {
  const Tensor R = random_orthogonal(12), J = R.t().mm(given_structure(12)).mm(R);
  const Tensor turn = turn_to_given(J);
  test::expect_close(turn.mm(turn.t()), at::eye(12, at::kDouble), 1e-12, "orthogonal");
  test::expect_close(turn.mm(J).mm(turn.t()), given_structure(12), 1e-12);
  const Tensor matrix = test::random_tensor({8, 12});
  const Tensor tied = complex_linear_part(matrix, J).mm(turn.t());
  test::expect_close(ops::expand(ops::contract(tied)), tied, 1e-12);
  test::expect_close(tied, ops::expand(ops::contract(matrix.mm(turn.t()))), 1e-12);
}

TEST(ComplexStructure, OddShapesAreRefused) {
  EXPECT_THROW(orientation(test::random_tensor({3, 4})), Error);
  EXPECT_THROW(best_structure(test::random_tensor({3, 3})), Error);
  EXPECT_THROW(turn_to_given(test::random_tensor({4, 6})), Error);
}

}  // namespace
}  // namespace crope::model
