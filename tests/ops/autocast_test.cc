#include "crope/ops/autocast.h"

#include <ATen/autocast_mode.h>

#include "crope/ops/block_linear.h"
#include "crope/ops/linear.h"
#include "crope/ops/linear_cross_entropy.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

class Bf16Scope {
 public:
  Bf16Scope() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  ~Bf16Scope() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

constexpr double kBf16 = 2e-2;  // a few steps of 2^-8

TEST(Autocast, CastsOnlyWhereItIsOn) {
  const Tensor x = at::randn({2, 3}), weight = at::randn({4, 3}).requires_grad_();
  EXPECT_EQ(autocast_input(x).data_ptr(), x.data_ptr());
  EXPECT_EQ(autocast_weight(weight, x).data_ptr(), weight.data_ptr());
  const Bf16Scope scope;
  EXPECT_EQ(autocast_input(x).scalar_type(), torch::kBFloat16);
  EXPECT_EQ(autocast_weight(weight, x).scalar_type(), torch::kBFloat16);
  EXPECT_EQ(autocast_input(x.to(torch::kFloat64)).scalar_type(), torch::kFloat64);
}

// Values and gradients of each product, near those in fp32, and gradients in the type of the weights.
TEST(Autocast, ProductsInBf16) {
  const Tensor targets = at::randint(11, {6}, torch::kInt64);
  const std::vector<std::pair<test::Operation, TensorList>> cases = {
      {[](const TensorList& x) { return TensorList{ops::linear(x[0], x[1]).to(torch::kFloat32)}; },
       {at::randn({6, 16}), at::randn({8, 16})}},
      {[](const TensorList& x) {
         return TensorList{block_linear(x[0], ComplexWeight{x[1], x[2]}).to(torch::kFloat32)};
       },
       {at::randn({6, 16}), at::randn({4, 8}), at::randn({4, 8})}},
      {[&](const TensorList& x) { return TensorList{linear_cross_entropy(x[0], x[1], targets).reshape({1})}; },
       {at::randn({6, 16}), at::randn({11, 16})}},
  };
  for (const auto& [operation, inputs] : cases) {
    const TensorList exact = operation(inputs), exact_grads = test::autograd_gradients(operation, inputs);
    const Bf16Scope scope;
    test::expect_close(operation(inputs)[0], exact[0], kBf16);
    const TensorList grads = test::autograd_gradients(operation, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(grads[i].scalar_type(), torch::kFloat32);
      test::expect_close(grads[i], exact_grads[i], kBf16, "gradient " + std::to_string(i));
      EXPECT_GT(test::relative_error(grads[i], exact_grads[i]), 1e-6) << "was it bf16 at all?";
    }
  }
}

}  // namespace
}  // namespace crope::ops
