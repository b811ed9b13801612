// Matrices of 8 or 4 bits a weight, in the order in which quantised_product.h reads them.
//
// Blocks are those of ops/quantised_matrix.h. Sixteen rows are a panel, and a panel lies in memory block after block:
// sixteen scales, sixteen minima (int4_min only), then the integers, four columns of all sixteen rows at a time. Rows
// and columns are filled up with zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

inline constexpr std::int64_t kBlockColumns = kQuantisedBlock;
inline constexpr std::int64_t kPanelRows = 16;

constexpr std::int64_t blocks_of(std::int64_t N) {
  return (N + kBlockColumns - 1) / kBlockColumns;
}

constexpr std::int64_t panels_of(std::int64_t M) {
  return (M + kPanelRows - 1) / kPanelRows;
}

// REQUIRES, here and below: is_quantised(type).
constexpr std::int64_t panel_block_bytes(WeightType type) {
  return kPanelRows * quantised_block_bytes(type);
}

// Bytes of scales, and of all that stands in front of the integers, of a block of a panel.
inline constexpr std::int64_t kScaleBytes = 2 * kPanelRows;
constexpr std::int64_t panel_head_bytes(WeightType type) {
  return type == WeightType::int4_min ? 2 * kScaleBytes : kScaleBytes;
}

constexpr std::int64_t panel_bytes(WeightType type, std::int64_t N) {
  return blocks_of(N) * panel_block_bytes(type);
}

// Row m in fp32, y[N].
void widen_quantised_row(const WeightMatrix& weight, std::int64_t m, float* y);

}  // namespace crope::ops::cpu
