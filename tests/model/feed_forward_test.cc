#include "crope/model/feed_forward.h"

#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

TEST(FeedForward, IsDownOfGatedUp) {
  const auto gate = test::random_tensor({6, 4}), up = test::random_tensor({6, 4}), down = test::random_tensor({4, 6});
  const auto x = test::random_tensor({2, 3, 4});
  const auto expected = at::linear(ops::reference::swiglu(at::linear(x, gate), at::linear(x, up)), down);
  const FeedForward layer{ops::DenseWeight{gate}, ops::DenseWeight{up}, ops::DenseWeight{down}};
  test::expect_close(forward(layer, x), expected, 1e-14);
}

}  // namespace
}  // namespace crope::model
