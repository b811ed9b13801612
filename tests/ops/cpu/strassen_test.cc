#include "crope/ops/cpu/strassen.h"

#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include "tests/ops/cpu/matrix_cases.h"

namespace crope::ops::cpu {
namespace {

using test::on_every_instruction_set;
using test::product_at;
using test::RandomSum;

TEST(Strassen, SevenProductsAreTheOne) {
  on_every_instruction_set([] {
    const std::int64_t m = 26, n = 38, k = 50, stride = n + 2;
    for (const int terms : {1, 2}) {
      for (const bool transposed : {false, true}) {
        const RandomSum a("a", m, k, transposed, terms), b("b", k, n, !transposed, terms);
        std::vector<float> first(static_cast<std::size_t>(m * stride), 0.5f), second = first;
        SumProduct product{.k = k, .a = a.sum, .b = b.sum};
        product.targets = {{{first.data(), 1, false}, {second.data(), -1, true}}};
        product.target_count = 2;
        const std::vector<SumProduct> parts = strassen(m, n, stride, std::span(&product, 1));
        EXPECT_EQ(parts.size(), 7u);
        SumProductRun work(m / 2, n / 2, stride, parts, 1);
        const auto shared = hwy::AllocateAligned<float>(static_cast<std::size_t>(work.shared_floats()));
        work.set_shared(shared.get());
        work.work();
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < stride; ++j) {
            const double value = j < n ? product_at(a, b, i, j, k) : 0;
            const auto at = static_cast<std::size_t>(i * stride + j);
            ASSERT_NEAR(first[at], j < n ? value : 0.5, 5e-4) << terms << transposed << " at " << i << ", " << j;
            ASSERT_NEAR(second[at], 0.5 - value, 5e-4) << terms << transposed << " at " << i << ", " << j;
          }
        }
      }
    }
  });
}

TEST(Strassen, ProductsOfAListStayNeighboursStepByStep) {
  const RandomSum a("a", 4, 4, false, 1), b("b", 4, 4, false, 1), other("c", 4, 4, false, 1);
  std::vector<SumProduct> products{{.k = 4, .a = a.sum, .b = b.sum}, {.k = 4, .a = a.sum, .b = other.sum}};
  std::vector<float> c(32);
  products[0].targets[0] = {c.data()};
  products[1].targets[0] = {c.data() + 16};
  const std::vector<SumProduct> parts = strassen(4, 4, 4, products);
  ASSERT_EQ(parts.size(), 14u);
  for (std::size_t i = 0; i < parts.size(); i += 2) EXPECT_EQ(parts[i].a, parts[i + 1].a) << i;
}

TEST(Strassen, PaysForLargeProductsOnly) {
  EXPECT_TRUE(strassen_pays(1024, 1024, 1024));
  EXPECT_FALSE(strassen_pays(4096, 4096, 256));
  EXPECT_FALSE(strassen_pays(64, 4096, 4096));
}

}  // namespace
}  // namespace crope::ops::cpu
