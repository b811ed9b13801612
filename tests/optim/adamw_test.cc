#include "crope/optim/adamw.h"

#include "tests/tensor_checks.h"

namespace crope::optim {
namespace {

using torch::Tensor;

TEST(Adamw, FollowsItsDefinition) {
  const Tensor start = test::random_tensor({7});
  Tensor leaf = start.clone().requires_grad_();
  Adamw adamw({{leaf, 0.1}}, {});
  Tensor expected = start.clone(), m = at::zeros_like(start), v = at::zeros_like(start);
  for (int step = 1; step <= 3; ++step) {
    const Tensor grad = test::random_tensor({7});
    leaf.mutable_grad() = grad;
    adamw.step(0.01);
    m = 0.9 * m + 0.1 * grad;
    v = 0.95 * v + 0.05 * grad * grad;
    const Tensor direction = m / (1 - std::pow(0.9, step)) / ((v / (1 - std::pow(0.95, step))).sqrt() + 1e-8);
    expected = expected * (1 - 0.01 * 0.1) - 0.01 * direction;
  }
  test::expect_close(leaf, expected, 1e-12);
  EXPECT_EQ(adamw.steps(), 3);
}

TEST(Adamw, StateCanBeRestored) {
  const Tensor start = test::random_tensor({5}), grad = test::random_tensor({5});
  const auto make = [&](const Tensor& value) {
    Tensor leaf = value.detach().clone().requires_grad_();
    leaf.mutable_grad() = grad;
    return leaf;
  };
  const Tensor one = make(start);
  Adamw first({{one, 0}}, {});
  first.step(0.1);
  const Tensor two = make(one);
  Adamw second({{two, 0}}, {});
  Tensor(second.first_moments()[0]).copy_(first.first_moments()[0]);
  Tensor(second.second_moments()[0]).copy_(first.second_moments()[0]);
  second.set_steps(first.steps());
  first.step(0.1);
  second.step(0.1);
  EXPECT_TRUE(at::equal(one, two));
}

}  // namespace
}  // namespace crope::optim
