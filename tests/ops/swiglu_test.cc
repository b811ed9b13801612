#include "crope/ops/swiglu.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;

TensorList gated(const TensorList& x) {
  return {swiglu(x[0], x[1])};
}
TensorList gated_twin(const TensorList& x) {
  return {reference::swiglu(x[0], x[1])};
}

TEST(Swiglu, EqualsItsTwin) {
  for (const int64_t F : {1, 3, 48}) {
    test::check_against(gated, gated_twin, {test::random_tensor({2, 5, F}), test::random_tensor({2, 5, F})}, 1e-12);
  }
}

TEST(Swiglu, GradientsByFiniteDifferences) {
  const TensorList inputs = {test::random_tensor({3, 4}), test::random_tensor({3, 4})};
  test::check_gradients(gated, inputs);
  test::check_gradients(gated_twin, inputs);
}

TEST(Swiglu, IsFiniteFarFromZero) {
  const auto far = at::tensor({-1e4, -50.0, 50.0, 1e4}, torch::kFloat32);
  EXPECT_TRUE(at::isfinite(swiglu(far, at::ones_like(far))).all().item<bool>());
}

TEST(Swiglu, RefusesAnotherShape) {
  EXPECT_THROW(swiglu(at::zeros({2, 4}), at::zeros({2, 5})), Error);
}

}  // namespace
}  // namespace crope::ops
