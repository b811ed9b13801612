// Rounding a matrix to 4 bits for given inputs.
//
// Columns are rounded one after the other, and the columns behind make good what each rounding does to the products:
// with inputs of second moments H the weights that remain move by -e U[c, c..] / U[c, c], where e is the error in
// column c and U the upper Cholesky factor of H^-1 (Frantar et al., GPTQ, arXiv 2210.17323). Neighbours share a scale;
// the scale of a block is fitted by least squares, each column at the cost that is left to it, 1 / U[c, c]^2.
#pragma once

#include <torch/types.h>

#include <vector>

#include "crope/ops/quantised_matrix.h"

namespace crope::ops {

// `weight` [M, N] as int4 for inputs of second moments `moments` [N, N], which need not have full rank.
// Throws Error if either is not finite.
QuantisedMatrix quantised_with_feedback(const torch::Tensor& weight, const torch::Tensor& moments);

// Rounds a pair a, b [M, N] (block_linear.h), whose input [2 N] is in halves: `moments` [2 N, 2 N]. The two are rounded
// together, since each of the layer's outputs is a sum of both.
struct QuantisedPair {
  QuantisedMatrix a, b;
};
QuantisedPair quantised_with_feedback(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& moments);

}  // namespace crope::ops
