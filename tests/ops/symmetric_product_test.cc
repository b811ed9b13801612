#include "crope/ops/symmetric_product.h"

#include <tuple>

#include "crope/base/error.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

TEST(SymmetricProduct, EqualsTheWholeProductAndIsSymmetric) {
  for (const auto& [R, C] : {std::tuple<int64_t, int64_t>{1, 1}, {5, 3}, {128, 7}, {129, 200}, {600, 50}, {1030, 2}}) {
    const torch::Tensor x = test::random_tensor({R, C});
    const torch::Tensor product = symmetric_product(x);
    test::expect_close(product, x.mm(x.t()), 1e-14);
    EXPECT_TRUE(at::equal(product, product.t()));
  }
}

TEST(SymmetricProduct, TakesTransposedInput) {
  const torch::Tensor x = test::random_tensor({40, 300}).t();
  test::expect_close(symmetric_product(x), x.mm(x.t()), 1e-14);
  EXPECT_THROW(symmetric_product(at::zeros({3})), Error);
}

}  // namespace
}  // namespace crope::ops
