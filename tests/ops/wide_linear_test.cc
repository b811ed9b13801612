#include "crope/ops/wide_linear.h"

#include <ATen/autocast_mode.h>

#include "crope/ops/block_linear.h"
#include "crope/ops/derived_weights.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

// Dense and tied layers of several heights, in the order of the inputs behind x.
std::vector<TensorList> layers_of(const TensorList& x) {
  return {{x[1], x[2]}, {x[3], x[4]}, {x[5]}, {x[6]}, {x[7], x[8]}};
}

TensorList random_inputs() {
  TensorList x = {test::random_tensor({2, 3, 8})};
  for (const at::IntArrayRef shape :
       std::vector<std::vector<int64_t>>{{3, 4}, {3, 4}, {3, 4}, {3, 4}, {5, 8}, {5, 8}, {2, 4}, {2, 4}}) {
    x.push_back(test::random_tensor(shape));
  }
  return x;
}

TensorList run_wide(const TensorList& x) {
  return wide_linear("test", x[0], layers_of(x));
}

TensorList run_twin(const TensorList& x) {
  TensorList y;
  for (const TensorList& layer : layers_of(x)) {
    y.push_back(layer.size() == 1 ? reference::linear(x[0], layer[0])
                                  : reference::block_linear(x[0], {layer[0], layer[1]}));
  }
  return y;
}

TEST(WideLinear, EqualsTheLayersOneByOne) {
  test::check_against(run_wide, run_twin, random_inputs(), 1e-12);
  test::check_gradients(run_wide, random_inputs());
}

TEST(WideLinear, FrozenWeightsAndUnusedOutputs) {
  const TensorList x = random_inputs();
  TensorList leaves;
  for (const Tensor& one : x) leaves.push_back(one.detach().clone().requires_grad_());
  leaves[5] = leaves[5].detach();
  const TensorList y = wide_linear("test", leaves[0], layers_of(leaves));
  (y[0].sum() + y[2].sum()).backward();
  EXPECT_FALSE(leaves[5].grad().defined()) << "it needs none";
  EXPECT_GT(leaves[1].grad().norm().item<double>(), 0);
  EXPECT_EQ(leaves[3].grad().norm().item<double>(), 0) << "its output is not used";
  const auto ones = [](int64_t width) { return at::ones({2, 3, width}, at::kDouble); };
  test::expect_close(leaves[0].grad(), ones(6).matmul(expand({x[1], x[2]})) + ones(5).matmul(x[5]), 1e-12);
}

class Bf16Autocast {
 public:
  Bf16Autocast() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  ~Bf16Autocast() { at::autocast::set_autocast_enabled(at::kCPU, false); }
};

// Errors of y and of the gradients of x and of the weights, in bf16 against fp64.
struct Errors {
  double y, x, weights;
};

Errors bf16_errors(const Tensor& x, const TensorList& weights, const Tensor& g) {
  const auto run = [&](torch::ScalarType type) {
    TensorList leaves = {x.detach().to(type).clone().requires_grad_()};
    for (const Tensor& weight : weights) leaves.push_back(weight.detach().to(type).clone().requires_grad_());
    Tensor y = wide_linear("test", leaves[0], {TensorList(leaves.begin() + 1, leaves.end())})[0];
    y.backward(g.to(y.scalar_type()));
    TensorList results = {y.detach(), leaves[0].grad()};
    TensorList grads;
    for (std::size_t i = 1; i < leaves.size(); ++i) grads.push_back(leaves[i].grad());
    results.push_back(at::cat(grads));
    return results;
  };
  const TensorList exact = run(at::kDouble);
  const Bf16Autocast autocast;
  const TensorList rounded = run(at::kFloat);
  return {test::relative_error(rounded[0], exact[0]), test::relative_error(rounded[1], exact[1]),
          test::relative_error(rounded[2], exact[2])};
}

// Operands are representable in bf16, so that the errors are those of the products.
TEST(WideLinear, ATiedLayerIsAsExactInBf16AsADenseOne) {
  const auto draw = [](at::IntArrayRef shape) { return at::randn(shape).to(at::kBFloat16).to(at::kFloat); };
  constexpr int64_t R = 512, N = 128;
  const Tensor x = draw({R, N}), g = draw({R, N});
  const Errors dense = bf16_errors(x, {draw({N, N})}, g);
  const Errors tied = bf16_errors(x, {draw({N / 2, N / 2}), draw({N / 2, N / 2})}, g);
  EXPECT_GT(dense.y, 1e-4) << "was it bf16 at all?";
  EXPECT_LE(tied.y, 1.1 * dense.y);
  EXPECT_LE(tied.x, 1.1 * dense.x);
  EXPECT_LE(tied.weights, 1.1 * dense.weights);
  RecordProperty("y", std::to_string(tied.y / dense.y));
  RecordProperty("x", std::to_string(tied.x / dense.x));
  RecordProperty("weights", std::to_string(tied.weights / dense.weights));
}

TEST(WideLinear, AScopeMakesTheMatrixOnce) {
  const Tensor x = at::randn({4, 8}), a = at::randn({2, 4}), b = at::randn({2, 4});
  const DerivedWeightScope scope(TensorList{a, b});
  const auto run = [&] { return wide_linear("test", x, {{a, b}})[0]; };
  const Tensor before = run();
  a.mul_(2);  // against the contract, which shows what is kept
  EXPECT_TRUE(at::equal(run(), before));
}

}  // namespace
}  // namespace crope::ops
