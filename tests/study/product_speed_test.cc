#include "crope/study/product_speed.h"

#include <gtest/gtest.h>

#include "crope/ops/product_source.h"

namespace crope::study {
namespace {

// Wide bounds: they catch a wrong unit or a product that was never made, and no machine falls outside of them.
TEST(ProductSpeed, IsThatOfAMachineAndLeavesTheChoiceAsItWas) {
  const ops::ProductSource before = ops::product_source(ops::ProductUse::training);
  const std::vector<ProductSpeed> speeds = measure_products(1);
  EXPECT_EQ(ops::product_source(ops::ProductUse::training), before);
  ASSERT_EQ(speeds.size(), 9u);
  EXPECT_EQ(speeds.front().name, "linear 64 x 64");
  for (const ProductSpeed& speed : speeds) {
    for (const double flops : {speed.own_flops, speed.blas_flops}) {
      EXPECT_GT(flops, 1e6) << speed.name;
      EXPECT_LT(flops, 1e16) << speed.name;
    }
  }
}

}  // namespace
}  // namespace crope::study
