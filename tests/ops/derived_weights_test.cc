#include "crope/ops/derived_weights.h"

#include <thread>

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(DerivedWeights, AreMadeOnceInAScope) {
  const Tensor weight = at::randn({3, 4}), other = at::randn({3, 4});
  int made = 0;
  const auto make = [&] { return ++made, weight + 1; };
  const auto get = [&] { return derived_weight("test", {weight}, at::kFloat, make); };
  get();
  get();
  EXPECT_EQ(made, 2) << "nothing is kept without a scope";
  {
    const DerivedWeightScope scope(std::vector<Tensor>{weight});
    EXPECT_TRUE(get().is_same(get()));
    EXPECT_EQ(made, 3);
    derived_weight("another kind", {weight}, at::kFloat, make);
    derived_weight("test", {weight}, at::kDouble, make);
    EXPECT_EQ(made, 5);
    // A view of the same memory is the same weight; a part of it is not.
    derived_weight("test", {weight.detach()}, at::kFloat, make);
    EXPECT_EQ(made, 5);
    derived_weight("test", {weight[1]}, at::kFloat, make);
    EXPECT_EQ(made, 6);
    derived_weight("test", {weight, other}, at::kFloat, make);
    derived_weight("test", {weight, other}, at::kFloat, make);
    EXPECT_EQ(made, 8) << "one that is no weight of the scope is not kept";
  }
  get();
  EXPECT_EQ(made, 9);
}

TEST(DerivedWeights, ScopesNestAndReachOtherThreads) {
  const Tensor weight = at::randn({3, 4});
  const DerivedWeightScope scope(std::vector<Tensor>{weight});
  const Tensor cast = derived_cast(weight, at::kBFloat16);
  EXPECT_EQ(cast.scalar_type(), at::kBFloat16);
  {
    const DerivedWeightScope inner(std::vector<Tensor>{weight});
    EXPECT_FALSE(derived_cast(weight, at::kBFloat16).is_same(cast));
  }
  EXPECT_TRUE(derived_cast(weight, at::kBFloat16).is_same(cast));
  std::thread([&, store = current_derived_weights()] {
    EXPECT_EQ(current_derived_weights(), nullptr);
    const DerivedWeightScope shared(store);
    EXPECT_TRUE(derived_cast(weight, at::kBFloat16).is_same(cast));
  }).join();
}

TEST(DerivedWeights, ACastToItsOwnTypeIsTheWeight) {
  const Tensor weight = at::randn({3, 4}).requires_grad_();
  EXPECT_EQ(derived_cast(weight, at::kFloat).data_ptr(), weight.data_ptr());
  EXPECT_FALSE(derived_cast(weight, at::kBFloat16).requires_grad());
}

}  // namespace
}  // namespace crope::ops
