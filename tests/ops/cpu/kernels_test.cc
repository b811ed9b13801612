#include "crope/ops/cpu/kernels.h"

#include <gtest/gtest.h>

#include <bit>

#include "crope/ops/cpu/product_kernel.h"
#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

Matrix as_matrix(std::vector<float>& values, std::int64_t columns) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / columns, columns, columns};
}

TEST(CpuKernels, ProductsAreLeftToABlasOnThePortableSet) {
  on_every_instruction_set([] {
    const Kernels& table = kernels();
    EXPECT_EQ(table.multiply != nullptr, product_kernels_pay());
    EXPECT_EQ(table.rotary_attention != nullptr, product_kernels_pay());
    EXPECT_EQ(table.newton_schulz != nullptr, product_kernels_pay());
    EXPECT_NE(table.rms_norm, nullptr);
    EXPECT_NE(table.linear_rows, nullptr);
    EXPECT_NE(table.cached_attention, nullptr);
  });
}

TEST(CpuKernels, RmsNormOfStridedRowsInPlaceWithoutScales) {
  on_every_instruction_set([] {
    const std::int64_t R = 3, N = 37, stride = 41;
    std::vector<float> x = draw_floats("x", R * stride);
    const std::vector<float> before = x, gain = draw_floats("gain", N);
    const Matrix rows{x.data(), R, N, stride};
    rms_norm({.x = rows, .gain = {gain.data(), 1, N, N}, .eps = 1e-5f, .y = rows});
    for (std::int64_t r = 0; r < R; ++r) {
      double squares = 0;
      for (std::int64_t i = 0; i < N; ++i) squares += std::pow(before[static_cast<std::size_t>(r * stride + i)], 2);
      for (std::int64_t i = 0; i < stride; ++i) {
        const auto at = static_cast<std::size_t>(r * stride + i);
        const double scale = i < N ? gain[static_cast<std::size_t>(i)] / std::sqrt(squares / N + 1e-5) : 1;
        EXPECT_NEAR(x[at], before[at] * scale, 3e-6 * (1 + std::abs(x[at])));
      }
    }
  });
}

TEST(CpuKernels, AddRowsInTheirOrder) {
  const std::int64_t D = 600;
  std::vector<float> sum(static_cast<std::size_t>(4 * D), 1e8f), rows(static_cast<std::size_t>(3 * D), 1.0f);
  for (std::int64_t i = 0; i < D; ++i) rows[static_cast<std::size_t>(D + i)] = -1e8f;
  const std::vector<std::int64_t> ids = {2, 2, 2};
  add_rows({.sum = as_matrix(sum, D), .rows = as_matrix(rows, D), .ids = {ids.data(), 1, 3, 3}});
  // (1e8 + 1) - 1e8 + 1 in fp32: any other order gives another number.
  for (std::int64_t i = 0; i < D; ++i) EXPECT_EQ(sum[static_cast<std::size_t>(2 * D + i)], 1.0f);
  EXPECT_EQ(sum[0], 1e8f);
}

TEST(CpuKernels, LookUpRowsOfEitherType) {
  const std::int64_t D = 5;
  const std::vector<float> fp32 = {0, 1, 2, 3, 4, -5, 0.5f, 7, 8, 9};
  std::vector<std::uint16_t> bf16;  // all of these numbers fit
  for (const float x : fp32) bf16.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
  const std::vector<std::int32_t> ids = {1, 0, 1};
  for (const WeightMatrix table :
       {WeightMatrix{fp32.data(), WeightType::fp32, 2, D}, WeightMatrix{bf16.data(), WeightType::bf16, 2, D}}) {
    std::vector<float> y(static_cast<std::size_t>(3 * (D + 2)), 99);
    look_up_rows({.table = table, .ids = ids, .y = {y.data(), 3, D, D + 2}});
    EXPECT_EQ(y, (std::vector<float>{-5, 0.5f, 7, 8, 9, 99, 99, 0, 1, 2, 3, 4, 99, 99, -5, 0.5f, 7, 8, 9, 99, 99}));
  }
}

// Several weights of one input, dense and pairs, and the gate, against sums in fp64.
TEST(CpuKernels, LinearRowsOfSeveralWeights) {
  on_every_instruction_set([] {
    const std::int64_t R = 3, in = 26, out = 34;
    std::vector<float> x = draw_floats("x", R * in);
    const std::vector<float> w = draw_floats("w", out * in), a = draw_floats("a", out / 2 * in / 2),
                             b = draw_floats("b", out / 2 * in / 2);
    const WeightView dense{{w.data(), WeightType::fp32, out, in}, {}};
    const WeightView pair{{a.data(), WeightType::fp32, out / 2, in / 2}, {b.data(), WeightType::fp32, out / 2, in / 2}};
    EXPECT_EQ(pair.in(), in);
    EXPECT_EQ(pair.out(), out);
    const auto entry = [&](bool is_pair, std::int64_t m, std::int64_t n) {
      if (!is_pair) return static_cast<double>(w[static_cast<std::size_t>(m * in + n)]);
      const std::int64_t M = out / 2, N = in / 2;
      const auto place = static_cast<std::size_t>(m % M * N + n % N);
      if ((m < M) == (n < N)) return static_cast<double>(a[place]);
      return m < M ? static_cast<double>(b[place]) : -static_cast<double>(b[place]);
    };
    const auto expected = [&](bool is_pair, std::int64_t r, std::int64_t m) {
      double sum = 0;
      for (std::int64_t n = 0; n < in; ++n) sum += x[static_cast<std::size_t>(r * in + n)] * entry(is_pair, m, n);
      return sum;
    };
    std::vector<float> first(static_cast<std::size_t>(R * out), 0.5f), second = first, gated = first, up = first;
    const std::array<LinearRows::Map, 2> maps = {{{dense, as_matrix(first, out)}, {pair, as_matrix(second, out)}}};
    linear_rows({.x = as_matrix(x, in), .maps = maps, .output = Output::add});
    for (const bool gate_is_pair : {false, true}) {
      gated_linear_rows({.x = as_matrix(x, in),
                         .gate = gate_is_pair ? pair : dense,
                         .up = gate_is_pair ? pair : dense,
                         .gated = as_matrix(gated, out),
                         .up_rows = as_matrix(up, out)});
      for (std::int64_t r = 0; r < R; ++r) {
        for (std::int64_t m = 0; m < out; ++m) {
          const double y = expected(gate_is_pair, r, m);
          EXPECT_NEAR(gated[static_cast<std::size_t>(r * out + m)], y * y / (1 + std::exp(-y)), 2e-4);
        }
      }
    }
    for (std::int64_t r = 0; r < R; ++r) {
      for (std::int64_t m = 0; m < out; ++m) {
        EXPECT_NEAR(first[static_cast<std::size_t>(r * out + m)], 0.5 + expected(false, r, m), 1e-4);
        EXPECT_NEAR(second[static_cast<std::size_t>(r * out + m)], 0.5 + expected(true, r, m), 1e-4);
      }
    }
  });
}

// Queries go to their rows, keys and values to the places of their tokens, each at its own position.
TEST(CpuKernels, RotaryRowsFindTheirPlaces) {
  on_every_instruction_set([] {
    const std::int64_t R = 2, H = 3, P = 5, Pv = 2, K = 2 * P, Kv = 2 * Pv, room = 4;
    std::vector<float> q = draw_floats("q", R * H * K), k = draw_floats("k", R * H * K),
                       v = draw_floats("v", R * H * Kv);
    std::vector<float> cos, sin;
    for (std::int64_t i = 0; i < 8 * P; ++i) {
      cos.push_back(std::cos(0.1f * static_cast<float>(i)));
      sin.push_back(std::sin(0.1f * static_cast<float>(i)));
    }
    std::vector<float> keys(static_cast<std::size_t>(H * room * K)), values(static_cast<std::size_t>(H * room * Kv));
    std::vector<float> rotated(static_cast<std::size_t>(R * H * K));
    // Token r stands at row 2 - r of every head.
    std::vector<CachePlace> places;
    for (std::int64_t r = 0; r < R; ++r) {
      places.push_back({.position = 3 + 4 * r,
                        .keys = {keys.data() + (2 - r) * K, H, K, room * K},
                        .values = {values.data() + (2 - r) * Kv, H, Kv, room * Kv}});
    }
    rotary_rows({.H = H,
                 .G = H,
                 .q = as_matrix(q, H * K),
                 .k = as_matrix(k, H * K),
                 .v = as_matrix(v, H * Kv),
                 .q_gain = {},
                 .k_gain = {},
                 .eps = 1e-6f,
                 .cos = as_matrix(cos, P),
                 .sin = as_matrix(sin, P),
                 .places = places,
                 .rotated = as_matrix(rotated, H * K)});
    for (std::int64_t r = 0; r < R; ++r) {
      for (std::int64_t h = 0; h < H; ++h) {
        for (std::int64_t p = 0; p < P; ++p) {
          const auto phase = static_cast<std::size_t>((3 + 4 * r) * P + p);
          const auto re = static_cast<std::size_t>(r * H * K + h * P + p), im = re + static_cast<std::size_t>(H * P);
          const auto to = static_cast<std::size_t>(r * H * K + h * K + p);
          const auto key = static_cast<std::size_t>((h * room + 2 - r) * K + p);
          EXPECT_NEAR(rotated[to], q[re] * cos[phase] - q[im] * sin[phase], 1e-5);
          EXPECT_NEAR(rotated[to + P], q[re] * sin[phase] + q[im] * cos[phase], 1e-5);
          EXPECT_NEAR(keys[key], k[re] * cos[phase] - k[im] * sin[phase], 1e-5);
          EXPECT_NEAR(keys[key + P], k[re] * sin[phase] + k[im] * cos[phase], 1e-5);
        }
        for (std::int64_t p = 0; p < Pv; ++p) {
          const auto value = static_cast<std::size_t>((h * room + 2 - r) * Kv + p);
          EXPECT_EQ(values[value], v[static_cast<std::size_t>(r * H * Kv + h * Pv + p)]);
          EXPECT_EQ(values[value + Pv], v[static_cast<std::size_t>(r * H * Kv + (H + h) * Pv + p)]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
