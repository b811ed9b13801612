// The twins themselves are checked by finite differences beside each operation; here, that they say what they should.
#include "crope/ops/reference.h"

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

torch::Tensor row(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), torch::kFloat64).unsqueeze(0);
}

TEST(Reference, ValuesByHand) {
  const torch::Tensor x = row({3, 4}), one = at::ones({1, 1}, torch::kFloat64);
  // (3 + 4i)(1 - 2i) = 11 - 2i
  test::expect_close(reference::block_linear(x, {one, one * 2}), row({11.0, -2.0}), 1e-15);
  // A pair of one frequency at position 1 turns by one radian.
  const double c = std::cos(1.0), s = std::sin(1.0);
  test::expect_close(reference::rope(x, at::ones({1}, torch::kInt64), 5000), row({3 * c - 4 * s, 4 * c + 3 * s}),
                     1e-15);
  test::expect_close(reference::rms_norm(x, at::ones({2}, torch::kFloat64), 0),
                     row({3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}), 1e-15);
  test::expect_close(reference::linear(x, row({2, -1})), row({2.0}), 1e-15);
  test::expect_close(reference::embedding(at::cat({x, row({5, 6})}), at::tensor({1, 0}, torch::kInt64)),
                     at::cat({row({5, 6}), x}), 1e-15);
  // One step with c0 = 1, c1 = 1, c2 = 0 on a vector of length 1: y + (y y') y.
  test::expect_close(reference::newton_schulz(x, {.steps = 1, .coefficients = {1, 1, 0}}), row({1.2, 1.6}), 1e-15);
  test::expect_close(reference::swiglu(at::zeros({1}), at::ones({1})), at::zeros({1}), 0);
}

// Two positions of one head: the first sees itself alone, the second weighs both by their scores.
TEST(Reference, RotaryAttentionByHand) {
  const torch::Tensor q = row({0, 1, 0, 0}).view({1, 2, 2}), v = row({1, 2, 3, 4}).view({1, 2, 2});
  const torch::Tensor k = row({1, 0, 1, 0}).view({1, 2, 2});
  // q at position 1 is zero: both scores are zero, so the second output is the mean.
  const torch::Tensor y =
      reference::rotary_attention(q, k, v, {}, {}, at::arange(2), 5000, {.num_heads = 1, .scale = 1});
  test::expect_close(y, row({1, 2, 2, 3}).view({1, 2, 2}), 1e-15);
}

}  // namespace
}  // namespace crope::ops
