#include "crope/model/norm_gain.h"

#include "crope/base/error.h"
#include "crope/model/pair_layout.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

TEST(NormGain, OneNumberPerPairIsRepeatedInHalves) {
  const Tensor shared = at::tensor({2.0, 3.0, 5.0});
  EXPECT_TRUE(at::equal(expand_gain(shared, 6), at::tensor({2.0, 3.0, 5.0, 2.0, 3.0, 5.0})));
  EXPECT_TRUE(at::equal(expand_adjacent_gain(shared, 6), at::tensor({2.0, 2.0, 3.0, 3.0, 5.0, 5.0})));
}

TEST(NormGain, OneNumberPerCoordinateStays) {
  const Tensor whole = test::random_tensor({6});
  EXPECT_TRUE(expand_gain(whole, 6).is_same(whole));
  EXPECT_TRUE(expand_adjacent_gain(whole, 6).is_same(whole));
}

// Both layouts stand for the same gain.
TEST(NormGain, HalvesAndAdjacentPairsAgree) {
  const Tensor shared = test::random_tensor({8});
  const std::vector<int> first = {0};
  EXPECT_TRUE(at::equal(pairs_to_halves(expand_adjacent_gain(shared, 16), first), expand_gain(shared, 16)));
}

TEST(NormGain, WithoutAGainThereIsNone) {
  EXPECT_FALSE(expand_gain(Tensor(), 6).defined());
  EXPECT_FALSE(expand_adjacent_gain(Tensor(), 6).defined());
}

// The gradient of a shared gain is the sum over the two coordinates of its pair.
TEST(NormGain, GradientsOfAPairAddUp) {
  const Tensor shared = test::random_tensor({3}).requires_grad_();
  const Tensor weights = test::random_tensor({6});
  (expand_gain(shared, 6) * weights).sum().backward();
  test::expect_close(shared.grad(), weights.narrow(0, 0, 3) + weights.narrow(0, 3, 3), 1e-15);
}

TEST(NormGain, OtherWidthsAreRefused) {
  EXPECT_THROW(expand_gain(at::ones({4}), 6), Error);
  EXPECT_THROW(expand_gain(at::ones({12}), 6), Error);
  EXPECT_THROW(expand_gain(at::ones({2, 3}), 6), Error);
  EXPECT_THROW(expand_adjacent_gain(at::ones({4}), 6), Error);
}

}  // namespace
}  // namespace crope::model
