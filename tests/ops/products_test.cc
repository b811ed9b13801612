#include "crope/ops/products.h"

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::expect_close;
using torch::Tensor;

Tensor wide(const Tensor& x) {
  return x.to(torch::kFloat64);
}
Tensor random_matrix(int64_t rows, int64_t columns) {
  return test::random_tensor({rows, columns}, torch::kFloat32);
}

struct Shape {
  int64_t m, n, k;
};

// Even and odd sizes above and below those of Strassen's scheme.
const std::vector<Shape> kShapes = {{1, 1, 1},       {3, 5, 2},       {64, 48, 100},
                                    {768, 770, 772}, {769, 771, 773}, {800, 769, 768}};

TEST(Products, OverwriteAndAdd) {
  for (const auto& [m, n, k] : kShapes) {
    const Tensor a = random_matrix(m, k), b = random_matrix(k, n), c = random_matrix(m, n), before = c.clone();
    const Tensor expected = wide(a).mm(wide(b));
    multiply(c, a, b, /*add=*/true);
    expect_close(c, wide(before) + expected, 2e-6);
    multiply(c, a, b);
    expect_close(c, expected, 2e-6);
  }
}

TEST(Products, OperandsMayBeTransposedStridedOrExpanded) {
  for (const auto& [m, n, k] : kShapes) {
    const Tensor a = random_matrix(k, m).t(), b = random_matrix(n, k + 3).narrow(1, 2, k).t();
    const Tensor room = at::zeros({m, n + 5}, torch::kFloat32), c = room.narrow(1, 1, n);
    multiply(c, a, b);
    expect_close(c, wide(a).mm(wide(b)), 2e-6);
    EXPECT_EQ(room.narrow(1, 0, 1).abs().sum().item<float>() + room.narrow(1, n + 1, 4).abs().sum().item<float>(), 0);
    const Tensor every_other = random_matrix(k, 2 * n).as_strided({k, n}, {2 * n, 2});
    for (const Tensor& one : {random_matrix(1, 1), random_matrix(1, k), random_matrix(m, 1)}) {
      const Tensor expanded = one.expand({m, k});
      multiply(c, expanded, every_other);
      expect_close(c, wide(expanded).mm(wide(every_other)), 2e-6);
    }
  }
}

TEST(Products, ListsOfSumsForSeveralTargets) {
  for (const auto& [m, n, k] : kShapes) {
    const Tensor a = random_matrix(m, k), b = random_matrix(m, k), c = random_matrix(k, n), d = random_matrix(n, k).t();
    const Tensor wide_rows = random_matrix(m, 2 * n), x = wide_rows.narrow(1, 0, n), y = wide_rows.narrow(1, n, n);
    const Tensor before = y.clone();
    // d lies in memory otherwise than c does.
    const std::vector<Product> products{{{{a}, {b}}, {{c}}, {{x}, {y, -1, true}}},
                                        {{{a}, {b, -1}}, {{c}, {d, -1}}, {{x, 1, true}}},
                                        {{{a}}, {{d}}, {{y, 1, true}}}};
    multiply(products);
    const Tensor first = wide(a + b).mm(wide(c));
    expect_close(x, first + wide(a - b).mm(wide(c) - wide(d)), 3e-6);
    expect_close(y, wide(before) - first + wide(a).mm(wide(d)), 3e-6);
  }
}

TEST(Products, OtherTypesGoThroughAten) {
  const Tensor a = test::random_tensor({5, 4}), b = test::random_tensor({5, 4}), c = test::random_tensor({4, 3});
  const Tensor x = at::empty({5, 3}, a.options()), y = at::full({5, 3}, 2.0, a.options());
  const std::vector<Product> products{{{{a}, {b, -1}}, {{c}}, {{x}, {y, -1, true}}}, {{{b}}, {{c}}, {{y, -1, false}}}};
  multiply(std::span(products).first(1));
  expect_close(x, (a - b).mm(c), 1e-14);
  expect_close(y, 2 - (a - b).mm(c), 1e-14);
  multiply(std::span(products).last(1));
  expect_close(y, -b.mm(c), 1e-14);
}

}  // namespace
}  // namespace crope::ops
