#include "crope/ops/cpu/multiply.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/matrix_cases.h"

namespace crope::ops::cpu {
namespace {

using test::on_every_instruction_set;
using test::product_at;
using test::RandomSum;

struct MultiplyShape {
  std::int64_t m, n, k;
};

// Above and below the sizes of Strassen's scheme, with odd rows, columns and terms that it leaves over.
TEST(Multiply, EveryRowColumnAndTermCounts) {
  on_every_instruction_set([] {
    for (const auto& [m, n, k] : {MultiplyShape{1, 1, 1}, MultiplyShape{5, 9, 3}, MultiplyShape{769, 771, 773}}) {
      const RandomSum a("a", m, k, false, 2), b("b", k, n, true, 1);
      const std::int64_t stride = n + 2;
      std::vector<float> overwritten(static_cast<std::size_t>(m * stride), 7.0f), added = overwritten;
      SumProduct product{.k = k, .a = a.sum, .b = b.sum};
      product.targets = {{{overwritten.data(), 1, false}, {added.data(), -1, true}}};
      product.target_count = 2;
      cpu::multiply({m, n, stride}, std::span(&product, 1));
      // The edges, where leftovers are, and some of the rest.
      for (std::int64_t i = 0; i < m; i += i + 97 < m ? 97 : std::max<std::int64_t>(1, m - 1 - i)) {
        for (std::int64_t j = 0; j < stride; j += j + 89 < n - 2 ? 89 : 1) {
          const double value = j < n ? product_at(a, b, i, j, k) : 0;
          const auto at = static_cast<std::size_t>(i * stride + j);
          ASSERT_NEAR(overwritten[at], j < n ? value : 7, 1e-5 * static_cast<double>(k))
              << m << " at " << i << ", " << j;
          ASSERT_NEAR(added[at], 7 - value, 1e-5 * static_cast<double>(k)) << m << " at " << i << ", " << j;
        }
      }
    }
  });
}

TEST(Multiply, OnlyTheLowerTriangleIsPromised) {
  on_every_instruction_set([] {
    const std::int64_t n = 70, k = 33;
    const RandomSum x("x", n, k, false, 1);
    MatrixSum transposed = x.sum;
    transposed.transposed = true;
    std::vector<float> c(static_cast<std::size_t>(n * n));
    SumProduct product{.k = k, .a = x.sum, .b = transposed};
    product.targets[0] = {.data = c.data()};
    multiply({n, n, n}, std::span(&product, 1), ResultPart::lower);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        double expected = 0;
        for (std::int64_t t = 0; t < k; ++t) expected += x.at(i, t) * x.at(j, t);
        EXPECT_NEAR(c[static_cast<std::size_t>(i * n + j)], expected, 3e-4);
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
