#include "crope/ops/cpu/skinny_product.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_bf16;
using test::draw_floats;
using test::on_every_instruction_set;

// Sums in double, of numbers of size 1: N terms differ from them by little.
constexpr double kTolerance = 2e-4;

struct ProductCase {
  std::int64_t R, M, N;
};
const std::vector<ProductCase> kCases = {{1, 1, 1},   {1, 5, 8},   {1, 13, 100}, {2, 7, 33},  {3, 6, 64},
                                         {4, 9, 17},  {5, 4, 1},   {6, 11, 31},  {7, 3, 255}, {8, 12, 128},
                                         {9, 10, 40}, {16, 8, 65}, {17, 5, 7}};

void check_dense(const ProductCase& c, const void* weights, const std::vector<float>& values, WeightType type) {
  const std::int64_t x_stride = c.N + 3, y_stride = c.M + 2;
  const std::vector<float> x = draw_floats("x", c.R * x_stride);
  for (const Output output : {Output::overwrite, Output::add}) {
    std::vector<float> y(static_cast<std::size_t>(c.R * y_stride), 0.5f);
    const std::int64_t half = c.M / 2;  // in two ranges, as two threads would
    for (const auto& [begin, end] : {std::pair(std::int64_t{0}, half), std::pair(half, c.M)}) {
      skinny_product({x.data(), c.R, c.N, x_stride}, {weights, type, c.M, c.N}, begin, end,
                     {y.data(), c.R, c.M, y_stride}, output);
    }
    for (std::int64_t r = 0; r < c.R; ++r) {
      for (std::int64_t m = 0; m < y_stride; ++m) {
        double expected = output == Output::add || m >= c.M ? 0.5 : 0;
        for (std::int64_t n = 0; m < c.M && n < c.N; ++n) {
          expected += static_cast<double>(x[static_cast<std::size_t>(r * x_stride + n)]) *
                      values[static_cast<std::size_t>(m * c.N + n)];
        }
        EXPECT_NEAR(y[static_cast<std::size_t>(r * y_stride + m)], expected, kTolerance)
            << "R " << c.R << " M " << c.M << " N " << c.N << " at " << r << ", " << m;
      }
    }
  }
}

void check_complex(const ProductCase& c, const void* a, const void* b, const std::vector<float>& a_values,
                   const std::vector<float>& b_values, WeightType type) {
  const std::int64_t x_stride = 2 * c.N + 1, y_stride = 2 * c.M;
  const std::vector<float> x = draw_floats("x", c.R * x_stride);
  for (const Output output : {Output::overwrite, Output::add}) {
    std::vector<float> y(static_cast<std::size_t>(c.R * y_stride), 0.5f);
    const std::int64_t half = c.M / 2;
    for (const auto& [begin, end] : {std::pair(std::int64_t{0}, half), std::pair(half, c.M)}) {
      skinny_complex_product({x.data(), c.R, 2 * c.N, x_stride}, {a, type, c.M, c.N}, {b, type, c.M, c.N}, begin, end,
                             {y.data(), c.R, 2 * c.M, y_stride}, output);
    }
    for (std::int64_t r = 0; r < c.R; ++r) {
      for (std::int64_t m = 0; m < c.M; ++m) {
        double re = output == Output::add ? 0.5 : 0, im = re;
        for (std::int64_t n = 0; n < c.N; ++n) {
          const double p = a_values[static_cast<std::size_t>(m * c.N + n)];
          const double q = b_values[static_cast<std::size_t>(m * c.N + n)];
          const double x_re = x[static_cast<std::size_t>(r * x_stride + n)];
          const double x_im = x[static_cast<std::size_t>(r * x_stride + c.N + n)];
          re += p * x_re + q * x_im;
          im += p * x_im - q * x_re;
        }
        EXPECT_NEAR(y[static_cast<std::size_t>(r * y_stride + m)], re, kTolerance);
        EXPECT_NEAR(y[static_cast<std::size_t>(r * y_stride + c.M + m)], im, kTolerance);
      }
    }
  }
}

TEST(SkinnyProduct, SumsOfProductsOverOddSizes) {
  on_every_instruction_set([] {
    for (const ProductCase& c : kCases) {
      const std::vector<float> w = draw_floats("w", c.M * c.N);
      check_dense(c, w.data(), w, WeightType::fp32);
      const test::Bf16Values narrow = draw_bf16("w", c.M * c.N);
      check_dense(c, narrow.bits.data(), narrow.values, WeightType::bf16);
    }
  });
}

TEST(SkinnyProduct, ComplexOverOddSizes) {
  on_every_instruction_set([] {
    for (const ProductCase& c : kCases) {
      const std::vector<float> a = draw_floats("a", c.M * c.N), b = draw_floats("b", c.M * c.N);
      check_complex(c, a.data(), b.data(), a, b, WeightType::fp32);
      const test::Bf16Values narrow_a = draw_bf16("a", c.M * c.N), narrow_b = draw_bf16("b", c.M * c.N);
      check_complex(c, narrow_a.bits.data(), narrow_b.bits.data(), narrow_a.values, narrow_b.values, WeightType::bf16);
    }
  });
}

// Bit for bit: a sequence gets the same numbers by itself and in a batch.
TEST(SkinnyProduct, ARowDoesNotDependOnTheOthers) {
  on_every_instruction_set([] {
    const std::int64_t M = 26, N = 77, R = 9;
    const std::vector<float> x = draw_floats("x", R * 2 * N), a = draw_floats("a", M * N), b = draw_floats("b", M * N);
    const WeightMatrix a_view{a.data(), WeightType::fp32, M, N}, b_view{b.data(), WeightType::fp32, M, N};
    const ConstMatrix x_dense{x.data(), R, N, N}, x_pair{x.data(), R, 2 * N, 2 * N};
    std::vector<float> dense(static_cast<std::size_t>(R * M)), pair(static_cast<std::size_t>(R * 2 * M));
    skinny_product(x_dense, a_view, 0, M, {dense.data(), R, M, M}, Output::overwrite);
    skinny_complex_product(x_pair, a_view, b_view, 0, M, {pair.data(), R, 2 * M, 2 * M}, Output::overwrite);
    for (std::int64_t r = 0; r < R; ++r) {
      std::vector<float> single(static_cast<std::size_t>(2 * M));
      const Matrix y{single.data(), 1, 2 * M, 2 * M};
      skinny_product(x_dense.from_row(r, 1), a_view, 0, M, y, Output::overwrite);
      for (std::int64_t m = 0; m < M; ++m) {
        EXPECT_EQ(single[static_cast<std::size_t>(m)], dense[static_cast<std::size_t>(r * M + m)]);
      }
      skinny_complex_product(x_pair.from_row(r, 1), a_view, b_view, 0, M, y, Output::overwrite);
      for (std::int64_t m = 0; m < 2 * M; ++m) {
        EXPECT_EQ(single[static_cast<std::size_t>(m)], pair[static_cast<std::size_t>(r * 2 * M + m)]);
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
