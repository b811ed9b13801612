#include "crope/ops/normalised.h"

#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(Normalised, EqualsTheTwinAndItsGradients) {
  const Tensor x = test::random_tensor({3, 5, 7}).requires_grad_(), gain = test::random_tensor({7}).requires_grad_();
  const Tensor expected = reference::rms_norm(x, gain, 1e-6), g = test::random_tensor({3, 5, 7});
  const auto exact = torch::autograd::grad({expected}, {x, gain}, {g});
  const at::NoGradGuard no_grad;
  const Normalised result = normalised(x, gain, 1e-6);
  test::expect_close(result.y, expected, 1e-14);
  EXPECT_EQ(result.scale.sizes(), (std::vector<int64_t>{3, 5, 1}));
  const NormGradients grads = normalised_backward(g, x, gain, result.scale, true, true);
  test::expect_close(grads.x, exact[0], 1e-13);
  test::expect_close(grads.gain, exact[1], 1e-13);
}

TEST(Normalised, MakesOnlyWhatIsWanted) {
  const Tensor x = at::randn({3, 7}), gain = at::ones({7});
  const Tensor scale = normalised(x, gain, 1e-6).scale;
  EXPECT_FALSE(normalised_backward(x, x, gain, scale, false, true).x.defined());
  EXPECT_FALSE(normalised_backward(x, x, gain, scale, true, false).gain.defined());
}

TEST(Normalised, TheMeanOfBf16IsTakenInFp32) {
  const Tensor x = at::full({1, 4096}, 1.0, at::kBFloat16), gain = at::ones({4096}, at::kBFloat16);
  const Normalised result = normalised(x, gain, 0);
  EXPECT_EQ(result.y.scalar_type(), at::kBFloat16);
  EXPECT_EQ(result.scale.scalar_type(), at::kFloat);
  EXPECT_EQ(result.scale.item<float>(), 1);
}

}  // namespace
}  // namespace crope::ops
