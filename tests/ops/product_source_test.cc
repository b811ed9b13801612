#include "crope/ops/product_source.h"

#include "crope/base/error.h"
#include "crope/ops/cpu/isa.h"
#include "crope/ops/device.h"
#include "crope/ops/newton_schulz.h"
#include "crope/ops/products.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

class ProductSourceTest : public testing::Test {
 protected:
  ~ProductSourceTest() override { use_training_products(before_); }

  const ProductSource before_ = product_source(ProductUse::training);
};

TEST_F(ProductSourceTest, KernelsHaveNoProductsWhereABlasIsChosen) {
  const Tensor x = at::zeros({2, 3});
  use_training_products(ProductSource::blas);
  EXPECT_EQ(product_source(ProductUse::training), ProductSource::blas);
  EXPECT_EQ(kernels_for({x}).multiply, nullptr);
  EXPECT_EQ(kernels_for({x}).newton_schulz, nullptr);
  EXPECT_EQ(kernels_for({x}).rms_norm != nullptr, cpu::fused_kernels_enabled());
  use_training_products(ProductSource::own);
  const bool has_products = inference_kernels(torch::kCPU, torch::kFloat32).multiply != nullptr;
  EXPECT_EQ(kernels_for({x}).multiply != nullptr, cpu::fused_kernels_enabled() && has_products);
}

TEST_F(ProductSourceTest, BothGiveTheSameProducts) {
  const Tensor a = at::randn({37, 70}), b = at::randn({70, 29}), c = at::randn({70, 29});
  const auto sums = [&] {
    Tensor first = at::ones({37, 29}), second = at::ones({37, 29});
    const Product product{{{a}}, {{b}, {c, -1}}, {{first, 1, true}, {second, -1, false}}};
    multiply(std::span(&product, 1));
    return at::cat({first, second, newton_schulz(a).narrow(1, 0, 29)});
  };
  use_training_products(ProductSource::own);
  const Tensor own = sums();
  use_training_products(ProductSource::blas);
  test::expect_close(own, sums(), 1e-4);
}

TEST(ProductSource, NamesAreThoseOfTheEnvironmentVariable) {
  EXPECT_EQ(Choice<ProductSource>::by_name("blas", "CROPE_PRODUCTS"), ProductSource::blas);
  EXPECT_THROW(Choice<ProductSource>::by_name("mkl", "CROPE_PRODUCTS"), UsageError);
}

}  // namespace
}  // namespace crope::ops
