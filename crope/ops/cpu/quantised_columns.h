// Rows of activations rounded to 8 bits, 32 neighbours with a scale of their own: what a weight of 8 or 4 bits is
// multiplied with.
#pragma once

#include <cstdint>

#include "crope/ops/cpu/scratch.h"
#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

// A row in blocks: integers, and for each block its scale and the sum of its integers.
struct QuantisedColumn {
  const std::int8_t* values;  // 32 a block
  const float* scales;        // not a number where the block has a number that is not finite
  const std::int32_t* sums;
};

// The rows of x, cut into pieces of N numbers each.
class QuantisedColumns {
 public:
  // REQUIRES: N divides the columns of x.
  QuantisedColumns(const ConstMatrix& x, std::int64_t N);

  std::int64_t count() const { return count_; }
  std::int64_t N() const { return N_; }
  QuantisedColumn column(std::int64_t i) const;  // piece i % pieces of row i / pieces

 private:
  std::int64_t N_, count_, blocks_;
  Scratch memory_;
};

}  // namespace crope::ops::cpu
