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
  test::expect_close(reference::swiglu(at::zeros({1}), at::ones({1})), at::zeros({1}), 0);
}

}  // namespace
}  // namespace crope::ops
