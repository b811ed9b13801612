// The inner loops of matrix products: products of operands that are laid out in panels.
#pragma once

#include <cstdint>
#include <span>

#include "crope/ops/cpu/panels.h"

namespace crope::ops::cpu {

// The parts of a product that need not be computed. Row i of the result is wanted up to column i + last_column; the
// columns after it may keep what they hold. Row i of the left operand is zero before term i + first_term and after term
// i + last_term.
struct Triangles {
  static constexpr std::int64_t kFar = std::int64_t{1} << 60;
  std::int64_t last_column = kFar, first_term = -kFar, last_term = kFar;

  // The triangles of the part of a product that begins with this row, column and term.
  Triangles from(std::int64_t row, std::int64_t column, std::int64_t term) const {
    return {last_column + row - column, first_term + row - term, last_term + row - term};
  }
};

// rows x columns of a product of packed operands for all targets, whose data begin with those rows and columns. Panels
// of a have `terms` terms; those of b are b_stride floats apart and may have more, of which the first ones count.
struct PackedProduct {
  std::int64_t rows, columns, terms;
  const float* a;
  const float* b;
  std::int64_t b_stride;
  std::int64_t target_stride;
  std::span<const ProductTarget> targets;
  Triangles triangles = {};
};
void multiply_packed(const PackedProduct& call);

}  // namespace crope::ops::cpu
