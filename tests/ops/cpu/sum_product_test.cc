#include "crope/ops/cpu/sum_product.h"

#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <thread>

#include "tests/ops/cpu/matrix_cases.h"

namespace crope::ops::cpu {
namespace {

using test::on_every_instruction_set;
using test::product_at;
using test::RandomSum;

// A float's share of the size of a sum of k products of numbers of size 4.
double tolerance(std::int64_t k) {
  return 2e-5 * static_cast<double>(k);
}

void run(std::int64_t m, std::int64_t n, std::int64_t stride, std::span<const SumProduct> products, int threads,
         ResultPart part = ResultPart::whole) {
  SumProductRun work(m, n, stride, products, threads, part);
  const auto shared = hwy::AllocateAligned<float>(static_cast<std::size_t>(work.shared_floats()));
  work.set_shared(shared.get());
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([&] { work.work(); });
  work.work();
  for (std::thread& other : others) other.join();
}

struct ProductShape {
  std::int64_t m, n, k;
};

TEST(SumProduct, AnyShapeOnAnyNumberOfThreadsIsTheSameToTheBit) {
  on_every_instruction_set([] {
    for (const auto& [m, n, k] :
         {ProductShape{1, 1, 1}, ProductShape{5, 7, 3}, ProductShape{97, 33, 40}, ProductShape{200, 130, 353},
          ProductShape{13, 70, 1030}, ProductShape{7, 1100, 1025}}) {
      const RandomSum a("a", m, k, false, 2), b("b", k, n, true, 2);
      const std::int64_t stride = n + 1;
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3}) {
        std::vector<float>& c = results.emplace_back(static_cast<std::size_t>(m * stride), 0.25f);
        SumProduct product{.k = k, .a = a.sum, .b = b.sum};
        product.targets[0] = {c.data(), -1, true};
        run(m, n, stride, std::span(&product, 1), threads);
        EXPECT_EQ(c, results.front()) << m << " x " << n << " x " << k << ", threads " << threads;
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < stride; j += j + 7 < n ? 7 : 1) {
          const double expected = j < n ? 0.25 - product_at(a, b, i, j, k) : 0.25;
          ASSERT_NEAR(results.front()[static_cast<std::size_t>(i * stride + j)], expected, tolerance(k))
              << m << " x " << n << " x " << k << " at " << i << ", " << j;
        }
      }
    }
  });
}

TEST(SumProduct, NeighboursThatShareAnOperandAreComputedEachForItself) {
  on_every_instruction_set([] {
    const std::int64_t m = 50, n = 40, k = 1100;  // two stages of terms
    const RandomSum a("a", m, k, true, 1), other_a("a'", m, k, false, 2);
    const RandomSum b("b", k, n, false, 1), other_b("b'", k, n, false, 4);
    // The same a twice, then the same b twice, then a product of its own onto the first target.
    const std::vector<std::pair<const RandomSum*, const RandomSum*>> operands{
        {&a, &b}, {&a, &other_b}, {&other_a, &other_b}, {&other_a, &b}};
    for (const int threads : {1, 2}) {
      std::vector<std::vector<float>> c(operands.size(), std::vector<float>(static_cast<std::size_t>(m * n), 9.0f));
      std::vector<SumProduct> products;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        SumProduct product{.k = k, .a = operands[i].first->sum, .b = operands[i].second->sum};
        const bool last = i + 1 == operands.size();
        product.targets[0] = {c[last ? 0 : i].data(), 1, last};
        products.push_back(product);
      }
      run(m, n, n, products, threads);
      for (std::int64_t i = 0; i < m; i += 7) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::size_t t = 0; t + 1 < operands.size(); ++t) {
            double expected = product_at(*operands[t].first, *operands[t].second, i, j, k);
            if (t == 0) expected += product_at(other_a, b, i, j, k);
            ASSERT_NEAR(c[t][static_cast<std::size_t>(i * n + j)], expected, tolerance(k))
                << "target " << t << " at " << i << ", " << j << ", threads " << threads;
          }
        }
      }
    }
  });
}

TEST(SumProduct, ALowerTriangleIsThatOfTheWholeProduct) {
  on_every_instruction_set([] {
    for (const auto& [m, n, k] :
         {ProductShape{1, 1, 3}, ProductShape{205, 205, 40}, ProductShape{130, 70, 360}, ProductShape{70, 130, 1030}}) {
      const RandomSum a("a", m, k, false, 1), b("b", k, n, false, 1);
      std::vector<float> c(static_cast<std::size_t>(m * n), 9.0f);
      SumProduct product{.k = k, .a = a.sum, .b = b.sum};
      product.targets[0] = {c.data()};
      run(m, n, n, std::span(&product, 1), 2, ResultPart::lower);
      for (std::int64_t i = 0; i < m; i += i % 7 == 0 ? 1 : 3) {
        for (std::int64_t j = 0; j < std::min(n, i + 1); ++j) {
          ASSERT_NEAR(c[static_cast<std::size_t>(i * n + j)], product_at(a, b, i, j, k), tolerance(k))
              << m << " x " << n << " x " << k << " at " << i << ", " << j;
        }
      }
    }
  });
}

TEST(SumProduct, AThreadThatComesLateFindsNothingToDo) {
  const RandomSum a("a", 8, 8, false, 1), b("b", 8, 8, false, 1);
  std::vector<float> c(64);
  SumProduct product{.k = 8, .a = a.sum, .b = b.sum};
  product.targets[0] = {c.data()};
  SumProductRun work(8, 8, 8, std::span(&product, 1), 2);
  const auto shared = hwy::AllocateAligned<float>(static_cast<std::size_t>(work.shared_floats()));
  work.set_shared(shared.get());
  work.work();
  const std::vector<float> before = c;
  work.work();
  EXPECT_EQ(c, before);
  EXPECT_NEAR(c[9], product_at(a, b, 1, 1, 8), 1e-5);
}

}  // namespace
}  // namespace crope::ops::cpu
