#include "crope/ops/weight.h"

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(Weight, EveryMixOfDenseAndTiedEqualsTheDenseMatrices) {
  const Tensor x = test::random_tensor({2, 3, 8});
  for (int mix = 0; mix < 8; ++mix) {
    std::array<Weight, 3> projections;
    for (int i = 0; i < 3; ++i) {
      if ((mix >> i) % 2 == 1) {
        projections[i] = ComplexWeight{test::random_tensor({2 + i, 4}), test::random_tensor({2 + i, 4})};
      } else {
        projections[i] = DenseWeight{test::random_tensor({4 + 2 * i, 8})};
      }
    }
    const std::array<Tensor, 3> results = project(x, projections);
    for (int i = 0; i < 3; ++i) {
      test::expect_close(results[i], at::linear(x, dense_matrix(projections[i])), 1e-13);
      test::expect_close(project(x, projections[i]), results[i], 1e-15);
    }
  }
}

}  // namespace
}  // namespace crope::ops
