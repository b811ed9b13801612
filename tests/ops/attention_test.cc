#include "crope/ops/attention.h"

#include <fstream>
#include <string>
#include <tuple>

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

TEST(Attention, EqualsTheWholeMatrixOfScores) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    for (const auto& [T, K, Kv] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 2, 2}, {7, 4, 8}, {33, 16, 16}, {9, 8, 4}}) {
      const AttentionOptions options{.scale = 0.3, .mask = mask};
      const TensorList inputs = {test::random_tensor({2, 3, T, K}), test::random_tensor({2, 3, T, K}),
                                 test::random_tensor({2, 3, T, Kv})};
      test::check_against(
          [&](const TensorList& x) { return TensorList{attention(x[0], x[1], x[2], options)}; },
          [&](const TensorList& x) { return TensorList{reference::attention(x[0], x[1], x[2], options)}; }, inputs,
          1e-12);
    }
  }
}

TEST(Attention, GradientsByFiniteDifferences) {
  const AttentionOptions options{.scale = 0.5};
  const TensorList inputs = {test::random_tensor({1, 2, 3, 2}), test::random_tensor({1, 2, 3, 2}),
                             test::random_tensor({1, 2, 3, 4})};
  test::check_gradients([&](const TensorList& x) { return TensorList{attention(x[0], x[1], x[2], options)}; }, inputs);
  test::check_gradients(
      [&](const TensorList& x) { return TensorList{reference::attention(x[0], x[1], x[2], options)}; }, inputs);
}

// Unequal widths must not fall back to the kernel that holds all scores. T x T scores of 8 heads at T = 3,000 would
// be 288 MB; the fused kernel works in kilobytes.
TEST(Attention, UnequalWidthsDoNotBuildTheScores) {
  const at::NoGradGuard no_grad;
  const int64_t T = 3000;
  const Tensor q = at::randn({1, 8, T, 16}), v = at::randn({1, 8, T, 32});
  attention(q, q, v, {.scale = 0.25});
  const auto peak_kilobytes = [] {
    std::ifstream status("/proc/self/status");
    std::string word;
    int64_t value = 0;
    while (status >> word) {
      if (word == "VmHWM:") status >> value;
    }
    return value;
  };
  const int64_t before = peak_kilobytes();
  attention(q, q, v, {.scale = 0.25});
  EXPECT_LT(peak_kilobytes() - before, 100'000);
}

TEST(Attention, RefusesShapesThatDisagree) {
  const Tensor q = at::zeros({1, 2, 3, 4});
  EXPECT_THROW(attention(q, at::zeros({1, 2, 4, 4}), q, {.scale = 1}), Error);
  EXPECT_THROW(attention(q, q, at::zeros({1, 1, 3, 4}), {.scale = 1}), Error);
  EXPECT_THROW(attention(q[0], q[0], q[0], {.scale = 1}), Error);
}

}  // namespace
}  // namespace crope::ops
