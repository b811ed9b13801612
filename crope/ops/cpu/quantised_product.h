// Products of a few rows with a matrix of 8 or 4 bits a weight, which is read once from memory for all of them.
//
// The rows are rounded to 8 bits as well, 32 neighbours with a scale of their own, so that the products are sums of
// integers; the blocks' sums are added in fp32. The result of a row does not depend on how many rows there are.
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

// y[r, m] = sum over n of x[r, n] W[m, n] for the rows m of panels [begin, end).
// REQUIRES: x has one piece for each row, as wide as the weight.
void quantised_product(const QuantisedColumns& x, const WeightMatrix& weight, std::int64_t begin, std::int64_t end,
                       const Matrix& y, Output output);

// The complex-linear layer, as skinny_complex_product (skinny_product.h). REQUIRES: x has two pieces for each row.
void quantised_complex_product(const QuantisedColumns& x, const WeightMatrix& a, const WeightMatrix& b,
                               std::int64_t begin, std::int64_t end, const Matrix& y, Output output);

// Whether the machine has instructions for sums of products of bytes (VNNI), and whether they are used. Tests turn them
// off.
bool byte_products_available();
void use_byte_products(bool use);

}  // namespace crope::ops::cpu
