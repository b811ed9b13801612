#include "crope/ops/recompute.h"

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

TensorList stretch(const TensorList& x) {
  const Tensor y = at::matmul(x[0], x[1]).sin();
  return {y * y, y.sum(0) + x[1].exp().sum()};
}

TEST(Recompute, ChangesNeitherValuesNorGradients) {
  const TensorList inputs = {test::random_tensor({3, 4}), test::random_tensor({4, 5})};
  int runs = 0;
  const auto counted = [&](const TensorList& x) {
    return recomputed(x, [&runs](const TensorList& y) {
      ++runs;
      return stretch(y);
    });
  };
  const TensorList got = counted(inputs), expected = stretch(inputs);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(got[i], expected[i]));
  runs = 0;
  const TensorList grads = test::autograd_gradients(counted, inputs);
  EXPECT_EQ(runs, 2) << "once forward, once for the gradient";
  const TensorList plain = test::autograd_gradients(stretch, inputs);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(grads[i], plain[i]));
}

TEST(Recompute, InputsThatNeedNoGradientGetNone) {
  const Tensor x = test::random_tensor({3, 4}), w = test::random_tensor({4, 5}).requires_grad_();
  const TensorList out = recomputed({x, w, Tensor()}, [](const TensorList& y) { return stretch({y[0], y[1]}); });
  out[0].sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(w.grad().defined());
}

}  // namespace
}  // namespace crope::ops
