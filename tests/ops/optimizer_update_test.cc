#include "crope/ops/optimizer_update.h"

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// In fp32 by the device's kernels and in fp64 by ATen, of sizes that fill no vector and on several threads.
struct UpdateCase {
  torch::ScalarType type;
  double tolerance;
};
const std::vector<UpdateCase> kUpdateCases = {{torch::kFloat32, 1e-6}, {torch::kFloat64, 1e-13}};
const std::vector<int64_t> kUpdateSizes = {1, 7, 64, 100'003};

TEST(OptimizerUpdate, AdamwFollowsItsDefinition) {
  for (const auto& [type, tolerance] : kUpdateCases) {
    for (const int64_t n : kUpdateSizes) {
      const Tensor start = test::random_tensor({n}), grad = test::random_tensor({n});
      const Tensor first = test::random_tensor({n}) * 0.1, second = test::random_tensor({n}).square() * 0.1;
      const Tensor value = start.to(type).clone(), m = first.to(type).clone(), v = second.to(type).clone();
      adamw_step(value, grad.to(type), m, v,
                 {.lr = 0.02, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .steps = 3});
      const Tensor new_m = 0.9 * first + 0.1 * grad, new_v = 0.95 * second + 0.05 * grad.square();
      const Tensor direction = new_m / (1 - std::pow(0.9, 3)) / ((new_v / (1 - std::pow(0.95, 3))).sqrt() + 1e-8);
      test::expect_close(value, start * (1 - 0.02 * 0.1) - 0.02 * direction, tolerance);
      test::expect_close(m, new_m, tolerance);
      test::expect_close(v, new_v, tolerance);
    }
  }
}

// A sum of two terms is rounded relative to its terms: of a single number they may cancel.
void expect_sum(const Tensor& x, const Tensor& one, const Tensor& other, double tolerance) {
  const double size = (one.norm() + other.norm()).item<double>();
  EXPECT_LE((x.to(one.scalar_type()) - (one + other)).norm().item<double>(), tolerance * size);
}

TEST(OptimizerUpdate, MomentumFollowsItsDefinition) {
  for (const auto& [type, tolerance] : kUpdateCases) {
    for (const int64_t n : kUpdateSizes) {
      for (const bool nesterov : {true, false}) {
        const Tensor start = test::random_tensor({n}), grad = test::random_tensor({n}), buffer = start.to(type).clone();
        const Tensor update = momentum_step(buffer, grad.to(type), {.momentum = 0.95, .nesterov = nesterov});
        const Tensor expected = 0.95 * start + 0.05 * grad;
        expect_sum(buffer, 0.95 * start, 0.05 * grad, tolerance);
        expect_sum(update, nesterov ? 0.95 * expected : 0.95 * start, 0.05 * grad, tolerance);
      }
    }
  }
}

TEST(OptimizerUpdate, DecayAndSubtract) {
  for (const auto& [type, tolerance] : kUpdateCases) {
    for (const int64_t n : kUpdateSizes) {
      const Tensor start = test::random_tensor({n}), direction = test::random_tensor({n}),
                   value = start.to(type).clone();
      decay_and_subtract(value, direction.to(type), 0.9, 0.3);
      test::expect_close(value, 0.9 * start - 0.3 * direction, tolerance);
    }
  }
  // Strided tensors too.
  const Tensor matrix = test::random_tensor({6, 4}, torch::kFloat32), before = matrix.clone();
  decay_and_subtract(matrix.t(), at::ones({4, 6}), 0.5, 2);
  test::expect_close(matrix, before * 0.5 - 2, 1e-6);
}

TEST(OptimizerUpdate, SumOfSquares) {
  for (const auto& [type, tolerance] : kUpdateCases) {
    for (const int64_t n : kUpdateSizes) {
      const Tensor x = test::random_tensor({n}).to(type);
      const double expected = x.to(torch::kFloat64).square().sum().item<double>();
      EXPECT_NEAR(sum_of_squares(x), expected, 1e-6 * expected);
    }
  }
  EXPECT_DOUBLE_EQ(sum_of_squares(at::tensor({3.0f, 4.0f})), 25);
}

// A parameter needs no guard of its caller's.
TEST(OptimizerUpdate, ParametersMayRequireGradients) {
  const Tensor value = at::ones({3}).requires_grad_();
  decay_and_subtract(value, at::ones({3}), 1, 0.25);
  EXPECT_TRUE(at::equal(value.detach(), at::full({3}, 0.75f)));
  EXPECT_TRUE(value.is_leaf());
}

}  // namespace
}  // namespace crope::ops
