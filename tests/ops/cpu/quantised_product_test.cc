#include "crope/ops/cpu/quantised_product.h"

#include "crope/base/half.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/quantised_weight.h"
#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;

// Each instruction set, with and without its instruction for products of bytes.
void on_every_kind_of_product(const std::function<void()>& check) {
  test::on_every_instruction_set([&] {
    check();
    use_byte_products(false);
    check();
    use_byte_products(true);
  });
}

struct Rounded {
  Rounded(const std::vector<float>& values, WeightType type, std::int64_t M, std::int64_t N)
      : bytes(static_cast<std::size_t>(quantised_bytes(type, M, N))), view{bytes.data(), type, M, N} {
    quantise_matrix({.from = {values.data(), M, N, N}, .type = type, .to = bytes.data()});
    wide.resize(values.size());
    widen_rows({.weight = view, .first = 0, .y = {wide.data(), M, N, N}});
  }
  std::vector<std::byte> bytes;
  WeightMatrix view;
  std::vector<float> wide;
};

// The numbers that a row of x is rounded to.
std::vector<double> rounded_row(const float* x, std::int64_t N) {
  std::vector<double> row;
  for (std::int64_t first = 0; first < N; first += 32) {
    const std::int64_t end = std::min(N, first + 32);
    float largest = 0;
    for (std::int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(x[i]));
    for (std::int64_t i = first; i < end; ++i) {
      row.push_back(largest == 0 ? 0 : std::nearbyint(x[i] * (127 / largest)) * static_cast<double>(largest / 127));
    }
  }
  return row;
}

double dot(const float* w, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(w[i]) * x[i];
  return sum;
}

// Blocks with minima, which no rounding of ours makes.
struct WithMinima {
  WithMinima(const std::string& name, std::int64_t M, std::int64_t N)
      : bytes(static_cast<std::size_t>(quantised_bytes(WeightType::int4_min, M, N))),
        view{bytes.data(), WeightType::int4_min, M, N} {
    const std::int64_t count = M * blocks_of(N);
    const std::vector<float> draws = test::draw_floats(name, count * 18);
    std::vector<std::uint8_t> blocks;
    for (std::int64_t b = 0; b < count; ++b) {
      const float* draw = draws.data() + b * 18;
      for (int i = 0; i < 2; ++i) {
        const std::uint16_t half = float_to_half(draw[i] / 8);
        blocks.push_back(static_cast<std::uint8_t>(half & 255));
        blocks.push_back(static_cast<std::uint8_t>(half >> 8));
      }
      for (int i = 2; i < 18; ++i)
        blocks.push_back(static_cast<std::uint8_t>(std::lrint(std::abs(draw[i]) * 100) & 255));
    }
    pack_blocks({.blocks = blocks.data(), .type = WeightType::int4_min, .M = M, .N = N, .to = bytes.data()});
    wide.resize(static_cast<std::size_t>(M * N));
    widen_rows({.weight = view, .first = 0, .y = {wide.data(), M, N, N}});
  }
  std::vector<std::byte> bytes;
  WeightMatrix view;
  std::vector<float> wide;
};

struct Shape {
  std::int64_t R, M, N;
};
const std::vector<Shape> kShapes = {{1, 1, 1},   {1, 16, 32}, {1, 17, 33}, {2, 40, 64},
                                    {3, 5, 100}, {4, 33, 31}, {7, 50, 96}, {17, 20, 70}};

TEST(QuantisedProduct, SumsOfTheRoundedNumbers) {
  on_every_kind_of_product([] {
    for (const auto& [R, M, N] : kShapes) {
      for (const WeightType type : {WeightType::int8, WeightType::int4}) {
        const Rounded weight(draw_floats("w", M * N), type, M, N);
        const std::vector<float> x = draw_floats("x", R * (N + 3));
        const ConstMatrix rows{x.data(), R, N, N + 3};
        const QuantisedColumns columns(rows, N);
        for (const Output output : {Output::overwrite, Output::add}) {
          std::vector<float> y(static_cast<std::size_t>(R * (M + 2)), 0.5f);
          const std::int64_t half = panels_of(M) / 2;
          for (const auto& [begin, end] : {std::pair(std::int64_t{0}, half), std::pair(half, panels_of(M))}) {
            quantised_product(columns, weight.view, begin, end, {y.data(), R, M, M + 2}, output);
          }
          for (std::int64_t r = 0; r < R; ++r) {
            const std::vector<double> row = rounded_row(rows.row(r), N);
            for (std::int64_t m = 0; m < M + 2; ++m) {
              const double before = output == Output::add || m >= M ? 0.5 : 0;
              const double expected = before + (m < M ? dot(weight.wide.data() + m * N, row) : 0);
              EXPECT_NEAR(y[static_cast<std::size_t>(r * (M + 2) + m)], expected, 1e-5 * (1 + std::abs(expected)))
                  << "R " << R << " M " << M << " N " << N << " at " << r << ", " << m;
            }
          }
        }
      }
    }
  });
}

TEST(QuantisedProduct, BlocksWithMinima) {
  on_every_kind_of_product([] {
    for (const auto& [R, M, N] : kShapes) {
      const WithMinima weight("w", M, N);
      const std::vector<float> x = draw_floats("x", R * N);
      std::vector<float> y(static_cast<std::size_t>(R * M));
      quantised_product(QuantisedColumns({x.data(), R, N, N}, N), weight.view, 0, panels_of(M), {y.data(), R, M, M},
                        Output::overwrite);
      for (std::int64_t r = 0; r < R; ++r) {
        const std::vector<double> row = rounded_row(x.data() + r * N, N);
        for (std::int64_t m = 0; m < M; ++m) {
          const double expected = dot(weight.wide.data() + m * N, row);
          EXPECT_NEAR(y[static_cast<std::size_t>(r * M + m)], expected, 2e-5 * (5 + static_cast<double>(N)))
              << "R " << R << " M " << M << " N " << N << " at " << r << ", " << m;
        }
      }
      // Bit for bit the same alone.
      std::vector<float> one(static_cast<std::size_t>(M));
      quantised_product(QuantisedColumns({x.data() + (R - 1) * N, 1, N, N}, N), weight.view, 0, panels_of(M),
                        {one.data(), 1, M, M}, Output::overwrite);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), y.begin() + (R - 1) * M));
    }
  });
}

TEST(QuantisedProduct, ComplexPairs) {
  on_every_kind_of_product([] {
    for (const auto& [R, M, N] : kShapes) {
      for (const WeightType type : {WeightType::int8, WeightType::int4}) {
        const Rounded a(draw_floats("a", M * N), type, M, N), b(draw_floats("b", M * N), type, M, N);
        const std::vector<float> x = draw_floats("x", R * 2 * N);
        const QuantisedColumns columns({x.data(), R, 2 * N, 2 * N}, N);
        std::vector<float> y(static_cast<std::size_t>(R * 2 * M), 0.5f);
        quantised_complex_product(columns, a.view, b.view, 0, panels_of(M), {y.data(), R, 2 * M, 2 * M}, Output::add);
        for (std::int64_t r = 0; r < R; ++r) {
          const std::vector<double> re = rounded_row(x.data() + r * 2 * N, N),
                                    im = rounded_row(x.data() + (r * 2 + 1) * N, N);
          for (std::int64_t m = 0; m < M; ++m) {
            const float *p = a.wide.data() + m * N, *q = b.wide.data() + m * N;
            EXPECT_NEAR(y[static_cast<std::size_t>(r * 2 * M + m)], 0.5 + dot(p, re) + dot(q, im), 2e-5 * (5 + N));
            EXPECT_NEAR(y[static_cast<std::size_t>(r * 2 * M + M + m)], 0.5 + dot(p, im) - dot(q, re), 2e-5 * (5 + N));
          }
        }
      }
    }
  });
}

// Bit for bit: a sequence gets the same numbers by itself and in a batch.
TEST(QuantisedProduct, ARowDoesNotDependOnTheOthers) {
  on_every_kind_of_product([] {
    const std::int64_t M = 26, N = 77, R = 9;
    const std::vector<float> x = draw_floats("x", R * 2 * N);
    for (const WeightType type : {WeightType::int8, WeightType::int4}) {
      const Rounded a(draw_floats("a", M * N), type, M, N), b(draw_floats("b", M * N), type, M, N);
      const ConstMatrix rows{x.data(), R, 2 * N, 2 * N};
      std::vector<float> all(static_cast<std::size_t>(R * 2 * M)), one(static_cast<std::size_t>(2 * M));
      quantised_complex_product(QuantisedColumns(rows, N), a.view, b.view, 0, panels_of(M),
                                {all.data(), R, 2 * M, 2 * M}, Output::overwrite);
      for (std::int64_t r = 0; r < R; ++r) {
        quantised_complex_product(QuantisedColumns(rows.from_row(r, 1), N), a.view, b.view, 0, panels_of(M),
                                  {one.data(), 1, 2 * M, 2 * M}, Output::overwrite);
        EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + r * 2 * M));
      }
    }
  });
}

// The largest sums of integers there are, of either sign: nothing saturates.
TEST(QuantisedProduct, ExtremesDoNotSaturate) {
  on_every_kind_of_product([] {
    const std::int64_t M = 16, N = 64;
    for (const float w : {127.0f, -127.0f}) {
      for (const float x : {127.0f, -127.0f}) {
        const std::vector<float> row(static_cast<std::size_t>(N), x);
        const QuantisedColumns columns({row.data(), 1, N, N}, N);
        for (const auto& [type, largest] :
             {std::pair(WeightType::int8, w), std::pair(WeightType::int4, w > 0 ? 8.0f : -8.0f)}) {
          const Rounded weight(std::vector<float>(static_cast<std::size_t>(M * N), largest), type, M, N);
          std::vector<float> y(static_cast<std::size_t>(M));
          quantised_product(columns, weight.view, 0, 1, {y.data(), 1, M, M}, Output::overwrite);
          for (const float value : y) EXPECT_FLOAT_EQ(value, weight.wide[0] * x * static_cast<float>(N));
        }
      }
    }
  });
}

// -128 never comes from rounding, but files may hold it.
TEST(QuantisedProduct, TheLowestByteIsMinus128) {
  on_every_kind_of_product([] {
    Rounded weight(std::vector<float>(16 * 32, -127.0f), WeightType::int8, 16, 32);
    for (std::size_t i = kScaleBytes; i < weight.bytes.size(); ++i) weight.bytes[i] = std::byte{0x80};
    const std::vector<float> x(32, 127.0f);
    std::vector<float> y(16);
    quantised_product(QuantisedColumns({x.data(), 1, 32, 32}, 32), weight.view, 0, 1, {y.data(), 1, 16, 16},
                      Output::overwrite);
    for (const float value : y) EXPECT_EQ(value, -128.0f * 127 * 32);
  });
}

TEST(QuantisedProduct, RowsOfZerosAndOfWhatIsNoNumber) {
  on_every_kind_of_product([] {
    const Rounded weight(draw_floats("w", 16 * 64), WeightType::int8, 16, 64);
    std::vector<float> x(3 * 64), y(3 * 16, 1.0f);
    x[64 + 5] = NAN;
    x[2 * 64 + 40] = INFINITY;
    quantised_product(QuantisedColumns({x.data(), 3, 64, 64}, 64), weight.view, 0, 1, {y.data(), 3, 16, 16},
                      Output::overwrite);
    for (std::size_t m = 0; m < 16; ++m) {
      EXPECT_EQ(y[m], 0);
      EXPECT_TRUE(std::isnan(y[16 + m]));
      EXPECT_TRUE(std::isnan(y[32 + m]));
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
