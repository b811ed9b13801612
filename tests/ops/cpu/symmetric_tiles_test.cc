#include "crope/ops/cpu/symmetric_tiles.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

const std::vector<std::int64_t> kTileSizes = {1, 5, 16, 17, 50};

// Entry (i, j) of a matrix whose lower triangle counts.
double lower_entry(const std::vector<float>& x, std::int64_t n, std::int64_t i, std::int64_t j) {
  return x[static_cast<std::size_t>(std::max(i, j) * n + std::min(i, j))];
}
double entry(const std::vector<float>& x, std::int64_t n, std::int64_t i, std::int64_t j) {
  return x[static_cast<std::size_t>(i * n + j)];
}

TEST(SymmetricTiles, PolynomialOfASymmetricMatrix) {
  on_every_instruction_set([] {
    for (const std::int64_t n : kTileSizes) {
      const std::vector<float> before = draw_floats("g", n * n);
      std::vector<float> s = draw_floats("s", n * n), g = before;
      combine_symmetric(n, s.data(), nullptr, 0, 0, 1);  // made symmetric
      combine_symmetric(n, g.data(), s.data(), 0.5f, -2, 3);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          EXPECT_NEAR(entry(g, n, i, j), 3 * lower_entry(before, n, i, j) - 2 * entry(s, n, i, j) + (i == j ? 0.5 : 0),
                      1e-5);
          EXPECT_EQ(entry(g, n, i, j), entry(g, n, j, i));
        }
      }
    }
  });
}

TEST(SymmetricTiles, GramOfAComplexMatrix) {
  on_every_instruction_set([] {
    for (const std::int64_t n : kTileSizes) {
      const std::vector<float> g = draw_floats("g", n * n), q = draw_floats("q", n * n);
      std::vector<float> re(g.size()), im(g.size());
      combine_hermitian_gram(n, {.g = g.data(), .q = q.data(), .re = re.data(), .im = im.data()});
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          EXPECT_NEAR(entry(re, n, i, j), lower_entry(g, n, i, j) + entry(q, n, i, j) + entry(q, n, j, i), 1e-5);
          EXPECT_NEAR(entry(im, n, i, j), entry(q, n, i, j) - entry(q, n, j, i), 1e-5);
          EXPECT_EQ(entry(re, n, i, j), entry(re, n, j, i));
          if (i != j) {
            EXPECT_EQ(entry(im, n, i, j), -entry(im, n, j, i));
          }
        }
      }
    }
  });
}

TEST(SymmetricTiles, PolynomialOfAHermitianMatrix) {
  on_every_instruction_set([] {
    for (const std::int64_t n : kTileSizes) {
      const std::vector<float> g = draw_floats("g", n * n), q = draw_floats("q", n * n);
      std::vector<float> re = draw_floats("re", n * n), im(re.size());
      combine_symmetric(n, re.data(), nullptr, 0, 0, 1);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          im[static_cast<std::size_t>(i * n + j)] = static_cast<float>(entry(q, n, i, j) - entry(q, n, j, i));
        }
      }
      const std::vector<float> re_before = re, im_before = im;
      combine_hermitian_polynomial(
          n, {.g = g.data(), .q = q.data(), .c0 = 0.5f, .c1 = -2, .c2 = 3, .re = re.data(), .im = im.data()});
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const double square = lower_entry(g, n, i, j) - entry(q, n, i, j) - entry(q, n, j, i);
          EXPECT_NEAR(entry(re, n, i, j), (i == j ? 0.5 : 0) - 2 * entry(re_before, n, i, j) + 3 * square, 2e-5);
          EXPECT_NEAR(entry(im, n, i, j), -2 * entry(im_before, n, i, j) + 3 * (entry(q, n, i, j) - entry(q, n, j, i)),
                      2e-5);
          EXPECT_EQ(entry(re, n, i, j), entry(re, n, j, i));
        }
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
