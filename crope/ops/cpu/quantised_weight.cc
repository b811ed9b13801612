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

// Tries nineteen scales, which put the largest weight at -7.1 to -8.9, and keeps the one with the least squared error,
// each column's at its cost.
std::uint16_t quantise_to_4_bits(const BlockValues& x, const BlockValues& costs, BlockIntegers& q) {
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
      with_x += costs[i] * static_cast<float>(rounded[i]) * x[i];
      with_itself += costs[i] * static_cast<float>(rounded[i] * rounded[i]);
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
  return (c < 16 ? byte & 15 : byte >> 4) - (type == WeightType::int4 ? 8 : 0);
}

float load_half(const std::uint8_t* from) {
  std::uint16_t half;
  std::memcpy(&half, from, sizeof(half));
  return half_to_float(half);
}

// Calls copy(place in the row's block, place in the panel's block, bytes) for all pieces of row `row` of a panel.
template <typename Copy>
void for_block_pieces(WeightType type, std::int64_t row, const Copy& copy) {
  const std::int64_t panel_head = panel_head_bytes(type), head = panel_head / kPanelRows;
  for (std::int64_t i = 0; i < head; i += 2) copy(i, i * kPanelRows + 2 * row, 2);
  for (std::int64_t i = head, c = 0; i < quantised_block_bytes(type); i += 4, c += 4) {
    copy(i, panel_head + place_of(row, c), 4);
  }
}

// Calls on_block(its place in row order, its panel's block's place, the row in the panel) for all blocks of all rows.
template <typename OnBlock>
void for_all_blocks(WeightType type, std::int64_t M, std::int64_t N, const OnBlock& on_block) {
  const std::int64_t row_bytes = blocks_of(N) * quantised_block_bytes(type);
  parallel_ranges(panels_of(M), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin * kPanelRows; m < std::min(M, end * kPanelRows); ++m) {
      for (std::int64_t b = 0; b < blocks_of(N); ++b) {
        on_block(m * row_bytes + b * quantised_block_bytes(type),
                 m / kPanelRows * panel_bytes(type, N) + b * panel_block_bytes(type), m % kPanelRows);
      }
    }
  });
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
        BlockValues costs;
        costs.fill(1);
        if (call.column_costs != nullptr) {
          std::copy_n(call.column_costs + first, std::min(kBlockColumns, N - first), costs.begin());
        }
        for (std::int64_t row = 0; row < kPanelRows; ++row) {
          const std::int64_t m = panel * kPanelRows + row;
          BlockValues x{};
          if (m < M) std::copy_n(call.from.row(m) + first, std::min(kBlockColumns, N - first), x.begin());
          BlockIntegers q;
          const std::uint16_t scale =
              call.type == WeightType::int8 ? quantise_to_8_bits(x, q) : quantise_to_4_bits(x, costs, q);
          std::memcpy(to + 2 * row, &scale, sizeof(scale));
          store_integers(q, call.type, row, to + kScaleBytes);
        }
      }
    }
  });
}

// Rows that fill up the last panel have scales of zero.
void pack_blocks(const PackBlocks& call) {
  const auto* from = static_cast<const std::uint8_t*>(call.blocks);
  auto* to = static_cast<std::uint8_t*>(call.to);
  if (call.M % kPanelRows != 0) {
    const std::int64_t bytes = panel_bytes(call.type, call.N);
    std::fill_n(to + (panels_of(call.M) - 1) * bytes, bytes, std::uint8_t{0});
  }
  for_all_blocks(call.type, call.M, call.N, [&](std::int64_t block, std::int64_t place, std::int64_t row) {
    for_block_pieces(call.type, row, [&](std::int64_t i, std::int64_t p, std::size_t bytes) {
      std::memcpy(to + place + p, from + block + i, bytes);
    });
  });
}

void unpack_blocks(const UnpackBlocks& call) {
  const WeightMatrix& weight = call.weight;
  const auto* from = static_cast<const std::uint8_t*>(weight.data);
  auto* to = static_cast<std::uint8_t*>(call.blocks);
  for_all_blocks(weight.type, weight.M, weight.N, [&](std::int64_t block, std::int64_t place, std::int64_t row) {
    for_block_pieces(weight.type, row, [&](std::int64_t i, std::int64_t p, std::size_t bytes) {
      std::memcpy(to + block + i, from + place + p, bytes);
    });
  });
}

void widen_quantised_row(const WeightMatrix& weight, std::int64_t m, float* y) {
  const std::int64_t row = m % kPanelRows;
  const auto* block =
      static_cast<const std::uint8_t*>(weight.data) + m / kPanelRows * panel_bytes(weight.type, weight.N);
  for (std::int64_t n = 0; n < weight.N; n += kBlockColumns, block += panel_block_bytes(weight.type)) {
    const float d = load_half(block + 2 * row);
    const float m0 = weight.type == WeightType::int4_min ? load_half(block + kScaleBytes + 2 * row) : 0;
    const std::int64_t count = std::min(kBlockColumns, weight.N - n);
    for (std::int64_t c = 0; c < count; ++c) {
      y[n + c] = d * static_cast<float>(load_integer(block + panel_head_bytes(weight.type), weight.type, row, c)) + m0;
    }
  }
}

void widen_rows(const WidenRows& call) {
  parallel_rows(call.y.rows, call.weight.N, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) widen_quantised_row(call.weight, call.first + r, call.y.row(r));
  });
}

}  // namespace crope::ops::cpu
