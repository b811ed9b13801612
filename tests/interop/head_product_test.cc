#include "crope/interop/head_product.h"

#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using ops::ComplexWeight;
using torch::Tensor;

constexpr int64_t K = 6, D = 16;

ComplexWeight random_pair(int64_t rows, int64_t columns) {
  return {test::random_tensor({rows, columns}), test::random_tensor({rows, columns})};
}

double squared_distance(const Tensor& x, const Tensor& y) {
  return (x - y).square().sum().item<double>();
}

ComplexWeight moved(const ComplexWeight& weight, double step) {
  return {weight.a + step * at::randn_like(weight.a), weight.b + step * at::randn_like(weight.b)};
}

// Channels between V and O may be mixed at will: a tied head is found again.
TEST(HeadProduct, ATiedHeadInDisguiseComesBack) {
  const Tensor v = ops::expand(random_pair(K / 2, D / 2)), o = ops::expand(random_pair(D / 2, K / 2));
  const Tensor mix = test::random_tensor({K, K});
  const HeadProduct head{mix.mm(v), o.mm(at::linalg_inv(mix))};
  const TiedHead tied = nearest_tied_head(head);
  test::expect_close(ops::expand(tied.o).mm(ops::expand(tied.v)), o.mm(v), 1e-10);
  const TiedValueHead value = nearest_tied_value_head(head);
  test::expect_close(value.o.mm(ops::expand(value.v)), o.mm(v), 1e-10);
  const double ratio = (head.v.norm() / head.o.norm()).item<double>();
  EXPECT_NEAR((ops::expand(tied.v).norm() / ops::expand(tied.o).norm()).item<double>(), ratio, 1e-9 * ratio);
}

TEST(HeadProduct, KeepsTheLargestSingularValuesOfTheLinearPart) {
  const HeadProduct head{test::random_tensor({K, D}), test::random_tensor({D, K})};
  const Tensor product = head.o.mm(head.v);
  const ComplexWeight linear = ops::contract(product);
  const Tensor sizes = at::linalg_svdvals(at::complex(linear.a, -linear.b));
  // A complex matrix has half of the squared norm of its real form.
  const double kept = 2 * sizes.narrow(0, 0, K / 2).square().sum().item<double>();
  const TiedHead tied = nearest_tied_head(head);
  const double lost = squared_distance(ops::expand(tied.o).mm(ops::expand(tied.v)), product);
  EXPECT_NEAR(lost, product.square().sum().item<double>() - kept, 1e-8);
}

TEST(HeadProduct, NoStepInAnyDirectionIsBetter) {
  const HeadProduct head{test::random_tensor({K, D}), test::random_tensor({D, K})};
  const Tensor product = head.o.mm(head.v);
  const TiedHead tied = nearest_tied_head(head);
  const TiedValueHead value = nearest_tied_value_head(head);
  const double lost = squared_distance(ops::expand(tied.o).mm(ops::expand(tied.v)), product);
  const double value_lost = squared_distance(value.o.mm(ops::expand(value.v)), product);
  EXPECT_LT(value_lost, lost) << "a free O can only help";
  for (int round = 0; round < 50; ++round) {
    const double step = round % 2 == 0 ? 1e-3 : 0.3;
    EXPECT_GE(squared_distance(ops::expand(moved(tied.o, step)).mm(ops::expand(moved(tied.v, step))), product), lost);
    const Tensor o = value.o + step * at::randn_like(value.o);
    EXPECT_GE(squared_distance(o.mm(ops::expand(moved(value.v, step))), product), value_lost);
  }
}

TEST(HeadProduct, EmptyAndWideHeads) {
  const TiedHead none = nearest_tied_head({at::zeros({K, D}, torch::kFloat64), at::zeros({D, K}, torch::kFloat64)});
  EXPECT_EQ(none.v.a.abs().max().item<double>(), 0);
  const TiedValueHead zero =
      nearest_tied_value_head({at::zeros({K, D}, torch::kFloat64), at::zeros({D, K}, torch::kFloat64)});
  EXPECT_TRUE(at::isfinite(zero.o).all().item<bool>());
  // Wider than the residual stream: all of the complex-linear part fits.
  const HeadProduct wide{test::random_tensor({12, 4}), test::random_tensor({4, 12})};
  const TiedHead tied = nearest_tied_head(wide);
  EXPECT_EQ(tied.v.a.sizes(), (std::vector<int64_t>{6, 2}));
  const Tensor linear = ops::expand(ops::contract(wide.o.mm(wide.v)));
  test::expect_close(ops::expand(tied.o).mm(ops::expand(tied.v)), linear, 1e-10);
}

}  // namespace
}  // namespace crope::interop
