// Products of a few rows with a matrix of 8 or 4 bits a weight, which is read once from memory for all of them.
//
// The rows are rounded to 8 bits as well, 32 neighbours with a scale of their own, so that the products are sums of
// integers; the blocks' sums are added in fp32. The result of a row does not depend on how many rows there are.
#pragma once

#include <cstdint>

#include "crope/ops/cpu/quantised_columns.h"
#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

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
