#include "crope/ops/linear_distillation.h"

#include "crope/base/error.h"
#include "crope/ops/linear_cross_entropy.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

const std::vector<DistillationOptions> kDistillationCases = {{.weight = 1},
                                                             {.weight = 0.3, .temperature = 2.5},
                                                             {.weight = 0.6, .temperature = 0.7, .top_k = 3},
                                                             {.weight = 1, .top_k = 1},
                                                             {.weight = 0.5, .temperature = 2, .top_k = 1000}};

TEST(LinearDistillation, EqualsTheReference) {
  for (const DistillationOptions& options : kDistillationCases) {
    for (const auto& [R, D, E, V] : {std::array<int64_t, 4>{1, 1, 2, 4}, {5, 3, 4, 7}, {130, 6, 3, 90'001}}) {
      const Tensor targets = at::randint(V, {R}, torch::kInt64);
      const TaughtRows teacher{test::random_tensor({R, E}), test::random_tensor({V, E})};
      test::check_against(
          [&](const TensorList& x) { return TensorList{linear_distillation(x[0], x[1], targets, teacher, options)}; },
          [&](const TensorList& x) {
            return TensorList{reference::linear_distillation(x[0], x[1], targets, teacher, options)};
          },
          {test::random_tensor({R, D}), test::random_tensor({V, D})}, 1e-11);
    }
  }
}

TEST(LinearDistillation, GradientsByFiniteDifferences) {
  const Tensor targets = at::tensor({1, 4, 0}, torch::kInt64);
  const TaughtRows teacher{test::random_tensor({3, 4}), test::random_tensor({5, 4})};
  for (const DistillationOptions& options : kDistillationCases) {
    test::check_gradients(
        [&](const TensorList& x) { return TensorList{linear_distillation(x[0], x[1], targets, teacher, options)}; },
        {test::random_tensor({3, 2}), test::random_tensor({5, 2})});
  }
}

TEST(LinearDistillation, WithoutWeightIsTheLossOfTheText) {
  const Tensor x = test::random_tensor({6, 3}), weight = test::random_tensor({9, 3});
  const Tensor targets = at::randint(9, {6}, torch::kInt64);
  const TaughtRows teacher{test::random_tensor({6, 2}), test::random_tensor({9, 2})};
  test::expect_close(linear_distillation(x, weight, targets, teacher, {.weight = 0}),
                     linear_cross_entropy(x, weight, targets), 1e-13);
}

// A student that predicts as its teacher does has nothing to learn from it.
TEST(LinearDistillation, VanishesForTheTeacherItself) {
  const Tensor x = test::random_tensor({6, 3}).requires_grad_(), weight = test::random_tensor({9, 3});
  const Tensor targets = at::randint(9, {6}, torch::kInt64);
  const Tensor loss = linear_distillation(x, weight, targets, {x.detach(), weight}, {.weight = 1, .temperature = 1.7});
  EXPECT_NEAR(loss.item<double>(), 0, 1e-13);
  EXPECT_LE(torch::autograd::grad({loss}, {x})[0].abs().max().item<double>(), 1e-13);
}

TEST(LinearDistillation, RefusesShapesThatDisagree) {
  const Tensor x = at::zeros({2, 3}), weight = at::zeros({5, 3}), targets = at::zeros({2}, torch::kInt64);
  EXPECT_THROW(linear_distillation(x, weight, targets, {at::zeros({2, 4}), at::zeros({6, 4})}, {}), Error);
  EXPECT_THROW(linear_distillation(x, weight, targets, {at::zeros({3, 4}), at::zeros({5, 4})}, {}), Error);
  EXPECT_THROW(linear_distillation(x, weight, targets, {at::zeros({2, 3}), at::zeros({5, 4})}, {}), Error);
  EXPECT_THROW(linear_distillation(x, at::zeros({5, 2}), targets, {at::zeros({2, 4}), at::zeros({5, 4})}, {}), Error);
}

}  // namespace
}  // namespace crope::ops
