#include "crope/optim/grad_clip.h"

#include "tests/tensor_checks.h"

namespace crope::optim {
namespace {

using torch::Tensor;

std::vector<Tensor> parameters_with_gradients(double first, double second) {
  std::vector<Tensor> parameters = {at::zeros({1}).requires_grad_(), at::zeros({1}).requires_grad_(),
                                    at::zeros({2}).requires_grad_()};
  parameters[0].mutable_grad() = at::full({1}, first);
  parameters[1].mutable_grad() = at::full({1}, second);
  return parameters;
}

TEST(GradClip, ScalesDownOnly) {
  const auto large = parameters_with_gradients(3, 4);
  EXPECT_DOUBLE_EQ(gradient_norm(large), 5);
  EXPECT_DOUBLE_EQ(clip_gradient_norm(large, 1), 5);
  EXPECT_NEAR(gradient_norm(large), 1, 1e-6);
  EXPECT_NEAR(large[0].grad().item<double>(), 0.6, 1e-6);
  const auto small = parameters_with_gradients(0.3, 0.4);
  clip_gradient_norm(small, 1);
  EXPECT_FLOAT_EQ(small[0].grad().item<float>(), 0.3f);
}

TEST(GradClip, LeavesWhatIsNotFinite) {
  const auto bad = parameters_with_gradients(NAN, 4);
  EXPECT_TRUE(std::isnan(clip_gradient_norm(bad, 1)));
  EXPECT_EQ(bad[1].grad().item<float>(), 4);
}

}  // namespace
}  // namespace crope::optim
