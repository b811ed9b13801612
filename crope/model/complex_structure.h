// Which directions of the residual stream are one complex number, in closed form (docs/mathematics.md, section 10).
//
// A complex structure of the stream is an orthogonal J with J^2 = -1: what multiplication by i does to it. A matrix in
// halves has two rows for each complex output, u (real) and v (imaginary), and is complex-linear under J where v = J u.
// A dense model fixes the pairs of the outputs of Q and K, by their frequencies, and leaves J open.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace crope::model {

// The structure of the given coordinates in halves: J takes the real part p to the imaginary part p.
torch::Tensor given_structure(std::int64_t D);

// S[D, D] = sum (u v' - v u') / 2 over the pairs of rows of matrix[2M, D], in fp64. Sums over matrices are the S of all
// of them together. Throws Error unless the number of rows is even.
torch::Tensor orientation(const torch::Tensor& matrix);

// The largest sum of v'J u that any structure reaches: the nuclear norm of S.
double best_agreement(const torch::Tensor& orientation);

// The structure that reaches it, [D, D] in fp64. Where S is singular J is completed by any structure of the null space.
// Throws Error unless D is even.
torch::Tensor best_structure(const torch::Tensor& orientation);

// Coordinates in which `structure` is the given one: an orthogonal R[D, D] with R J R' = given_structure(D). A matrix W
// that is complex-linear under J is a tied one after the turn, W R'.
torch::Tensor turn_to_given(const torch::Tensor& structure);

// v'J u of each pair of rows of matrix[2M, D]: [M] in fp64. The complex-linear part of a pair has the energy
// (|u|^2 + |v|^2) / 2 + v'J u.
torch::Tensor agreements(const torch::Tensor& matrix, const torch::Tensor& structure);

// The nearest complex-linear matrix: rows u' = (u - J v) / 2 and v' = J u'. [2M, D] in fp64.
torch::Tensor complex_linear_part(const torch::Tensor& matrix, const torch::Tensor& structure);

}  // namespace crope::model
