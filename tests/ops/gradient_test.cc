#include "crope/ops/gradient.h"

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// y = x^2 with 2x g as its gradient.
Tensor square(const Tensor& x, int* backward_calls) {
  return with_gradient(
             "test", {x}, [&] { return ForwardResult{.outputs = {x * x}, .saved = {x}}; },
             [backward_calls](const BackwardCall& call) {
               ++*backward_calls;
               return TensorList{call.saved[0] * call.grads[0] * 2};
             })
      .front();
}

TEST(Gradient, BackwardIsCalledOnceWithWhatWasSaved) {
  int calls = 0;
  const Tensor x = at::tensor({3.0, -2.0}, torch::kFloat64).requires_grad_();
  const Tensor y = square(x, &calls);
  EXPECT_TRUE(y.requires_grad());
  const Tensor gradient = torch::autograd::grad({y.sum()}, {x})[0];
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(at::equal(gradient, at::tensor({6.0, -4.0}, torch::kFloat64)));
}

TEST(Gradient, NothingIsRecordedWithoutNeed) {
  int calls = 0;
  EXPECT_FALSE(square(at::ones({2}), &calls).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(square(at::ones({2}).requires_grad_(), &calls).requires_grad());
  EXPECT_FALSE(needs_gradient({at::ones({2}).requires_grad_()}));
}

TEST(Gradient, TellsWhichInputsNeedOne) {
  std::vector<bool> needed;
  const Tensor x = at::ones({2}).requires_grad_(), constant = at::ones({2});
  const Tensor y =
      with_gradient(
          "test", {constant, x}, [&] { return ForwardResult{.outputs = {constant * x}, .saved = {constant}}; },
          [&](const BackwardCall& call) {
            needed = call.needed;
            return TensorList{Tensor(), call.saved[0] * call.grads[0]};
          })
          .front();
  torch::autograd::grad({y.sum()}, {x});
  EXPECT_EQ(needed, (std::vector<bool>{false, true}));
}

TEST(Gradient, SavedTensorsAreLetGoAfterBackward) {
  int calls = 0;
  const Tensor x = at::ones({2}, torch::kFloat64).requires_grad_();
  const Tensor middle = x * 1;
  const auto owners = middle.use_count();
  const Tensor y = square(middle, &calls);
  EXPECT_GT(middle.use_count(), owners);
  torch::autograd::grad({y.sum()}, {x});
  EXPECT_EQ(middle.use_count(), owners);
}

}  // namespace
}  // namespace crope::ops
