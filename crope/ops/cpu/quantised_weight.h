// Matrices of 8 or 4 bits a weight, in the order in which quantised_product.h reads them.
//
// 32 neighbouring weights of a row are a block: a 16-bit float d and integers q that stand for d q; q is -127 to 127 in
// int8 (GGUF's Q8_0) and -8 to 7 in int4 (its Q4_0). Sixteen rows are a panel, and a panel lies in memory block after
// block: sixteen d, then the integers, four columns of all sixteen rows at a time. Of int4 a byte holds column c in its
// low half and column c + 16 in its high half, both plus 8. Rows and columns are filled up with zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

inline constexpr std::int64_t kBlockColumns = 32;
inline constexpr std::int64_t kPanelRows = 16;
inline constexpr std::int64_t kScaleBytes = 2 * kPanelRows;  // of a block of a panel

constexpr std::int64_t blocks_of(std::int64_t N) {
  return (N + kBlockColumns - 1) / kBlockColumns;
}

constexpr std::int64_t panels_of(std::int64_t M) {
  return (M + kPanelRows - 1) / kPanelRows;
}

// REQUIRES, here and below: type is int8 or int4.
constexpr std::int64_t panel_block_bytes(WeightType type) {
  return kScaleBytes + kPanelRows * kBlockColumns / (type == WeightType::int4 ? 2 : 1);
}

constexpr std::int64_t panel_bytes(WeightType type, std::int64_t N) {
  return blocks_of(N) * panel_block_bytes(type);
}

// Row m in fp32, y[N].
void widen_quantised_row(const WeightMatrix& weight, std::int64_t m, float* y);

}  // namespace crope::ops::cpu
