#include "crope/ops/cpu/quantised_weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "crope/base/half.h"
#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

namespace crope::ops::cpu {
namespace {

using BlockValues = std::array<float, kBlockColumns>;
using BlockIntegers = std::array<int, kBlockColumns>;

constexpr float kLargestHalf = 65504;

// The largest weight becomes ±127.
std::uint16_t quantise_to_8_bits(const BlockValues& x, BlockIntegers& q) {
  float largest = 0;
  for (const float value : x) largest = std::max(largest, std::abs(value));
  const std::uint16_t scale = float_to_half(std::min(largest / 127, kLargestHalf));
  const float d = half_to_float(scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    q[i] = d == 0 ? 0 : std::clamp(static_cast<int>(std::lrint(x[i] / d)), -127, 127);
  }
  return scale;
}

// Tries nineteen scales, which put the largest weight at -7.1 to -8.9, and keeps the one with the least squared error.
std::uint16_t quantise_to_4_bits(const BlockValues& x, BlockIntegers& q) {
  const float largest = *std::ranges::max_element(x, {}, [](float value) { return std::abs(value); });  // with its sign
  q.fill(0);
  if (largest == 0) return 0;
  float best = 0, best_scale = 0;
  for (int step = -9; step <= 9; ++step) {
    const float inverse = -(8 + 0.1f * static_cast<float>(step)) / largest;
    BlockIntegers rounded;
    float with_x = 0, with_itself = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      rounded[i] = std::clamp(static_cast<int>(std::lrint(x[i] * inverse)), -8, 7);
      with_x += static_cast<float>(rounded[i]) * x[i];
      with_itself += static_cast<float>(rounded[i] * rounded[i]);
    }
    if (with_itself == 0 || with_x * with_x <= best * with_itself) continue;
    best = with_x * with_x / with_itself;
    best_scale = with_x / with_itself;
    q = rounded;
  }
  return float_to_half(std::clamp(best_scale, -kLargestHalf, kLargestHalf));
}

// Where the integer of a row and column of a panel's block lies, behind the scales.
std::int64_t place_of(std::int64_t row, std::int64_t column) {
  return column / 4 * (4 * kPanelRows) + row * 4 + column % 4;
}

void store_integers(const BlockIntegers& q, WeightType type, std::int64_t row, std::uint8_t* integers) {
  for (std::int64_t c = 0; c < kBlockColumns; ++c) {
    const int value = q[static_cast<std::size_t>(c)];
    if (type == WeightType::int8) {
      integers[place_of(row, c)] = static_cast<std::uint8_t>(value);
    } else {
      std::uint8_t& byte = integers[place_of(row, c % 16)];
      byte = static_cast<std::uint8_t>(c < 16 ? value + 8 : byte | (value + 8) << 4);
    }
  }
}

int load_integer(const std::uint8_t* integers, WeightType type, std::int64_t row, std::int64_t c) {
  if (type == WeightType::int8) return static_cast<std::int8_t>(integers[place_of(row, c)]);
  const std::uint8_t byte = integers[place_of(row, c % 16)];
  return (c < 16 ? byte & 15 : byte >> 4) - 8;
}

}  // namespace

std::int64_t quantised_bytes(WeightType type, std::int64_t M, std::int64_t N) {
  return panels_of(M) * panel_bytes(type, N);
}

void quantise_matrix(const QuantiseMatrix& call) {
  const std::int64_t M = call.from.rows, N = call.from.columns, block_bytes = panel_block_bytes(call.type);
  parallel_ranges(panels_of(M), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      auto* to = static_cast<std::uint8_t*>(call.to) + panel * panel_bytes(call.type, N);
      for (std::int64_t first = 0; first < N; first += kBlockColumns, to += block_bytes) {
        for (std::int64_t row = 0; row < kPanelRows; ++row) {
          const std::int64_t m = panel * kPanelRows + row;
          BlockValues x{};
          if (m < M) std::copy_n(call.from.row(m) + first, std::min(kBlockColumns, N - first), x.begin());
          BlockIntegers q;
          const std::uint16_t scale =
              call.type == WeightType::int8 ? quantise_to_8_bits(x, q) : quantise_to_4_bits(x, q);
          std::memcpy(to + 2 * row, &scale, sizeof(scale));
          store_integers(q, call.type, row, to + kScaleBytes);
        }
      }
    }
  });
}

void widen_quantised_row(const WeightMatrix& weight, std::int64_t m, float* y) {
  const std::int64_t row = m % kPanelRows;
  const auto* block =
      static_cast<const std::uint8_t*>(weight.data) + m / kPanelRows * panel_bytes(weight.type, weight.N);
  for (std::int64_t n = 0; n < weight.N; n += kBlockColumns, block += panel_block_bytes(weight.type)) {
    std::uint16_t scale;
    std::memcpy(&scale, block + 2 * row, sizeof(scale));
    const float d = half_to_float(scale);
    const std::int64_t count = std::min(kBlockColumns, weight.N - n);
    for (std::int64_t c = 0; c < count; ++c) {
      y[n + c] = d * static_cast<float>(load_integer(block + kScaleBytes, weight.type, row, c));
    }
  }
}

void widen_rows(const WidenRows& call) {
  parallel_rows(call.y.rows, call.weight.N, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) widen_quantised_row(call.weight, call.first + r, call.y.row(r));
  });
}

}  // namespace crope::ops::cpu
