// Chooses which coordinates of the residual stream form a complex number. A dense model's function does not depend on
// it.
#pragma once

#include <torch/types.h>

#include <vector>

#include "crope/model/transformer.h"

namespace crope::interop {

// An order of the D coordinates in halves: the first half are real parts, order[p] and order[D/2 + p] one number.
using ResidualOrder = std::vector<std::int64_t>;

// The order in which the pairs of the matrices' inputs, matrices[2M, D] in halves, make much of them complex-linear:
// with u and v the two rows of an output, the part of them in the pair (i, j) is worth sum(u_i v_j - u_j v_i). The
// pairs of the largest worth are taken one after the other, each the way round that makes it positive; the given order,
// if that keeps more.
ResidualOrder pair_for(const std::vector<torch::Tensor>& matrices);

// A model of the same function with the residual stream in another order: rows and columns of all that reads and
// writes it.
// REQUIRES: a dense model.
model::Transformer reorder_residual(const model::Transformer& model, const ResidualOrder& order);

}  // namespace crope::interop
