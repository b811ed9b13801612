// Operands of matrix products laid out in panels, in the order in which the inner loops read them.
#pragma once

#include <cstdint>

#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

// How a product is cut into pieces, by the instruction set in use.
struct ProductTile {
  std::int64_t rows, columns;              // of a result, computed at a time: the widths of panels
  std::int64_t block_rows;                 // of a, at most, packed and multiplied at a time; kMostBlockRows or fewer
  std::int64_t stage_terms, stage_floats;  // of b, at most, packed at a time
  std::int64_t gauss_pairs;                // of a tied layer, from which on Gauss's three products are faster than one
};
inline constexpr std::int64_t kMostBlockRows = 108;
ProductTile product_tile();

// Whether they are faster than a BLAS that chooses its own instructions: not on the portable set.
bool product_kernels_pay();

// Terms [term, term + terms) of `count` rows of a left operand, or columns of a right one, from `first` on, in panels:
// out[panel][term][index within the panel], with zeros where the last panel has none. Sums the operand's matrices.
// REQUIRES: room for whole panels; that of a right operand aligned to 64 bytes.
struct PanelRange {
  std::int64_t first, count, term, terms;
};
void pack_left(const MatrixSum& a, const PanelRange& range, float* out);
void pack_right(const MatrixSum& b, const PanelRange& range, float* out);

}  // namespace crope::ops::cpu
