// V and O of a head: only their product matters to the model.
#pragma once

#include <torch/types.h>

#include "crope/ops/block_linear.h"

namespace crope::interop {

// One head of a dense model in fp64: v[K, D] takes the residual stream, in halves, into the head; o[D, K] back. The K
// channels between them may stand in any order. Where n heads of O read one of V, o is [n D, K], in halves.
struct HeadProduct {
  torch::Tensor v;
  torch::Tensor o;
};

struct TiedHead {
  ops::ComplexWeight v;  // [K/2, D/2]
  ops::ComplexWeight o;  // [n D/2, K/2]
};

// The pair whose product is nearest to o v. The complex-linear part of o v is C = O V^H / 2, where column k of O and V
// are the columns of o and the rows of v as complex vectors; the best product of K/2 complex channels is its truncated
// singular value decomposition. Scaled so that the norms of v and o keep their ratio.
TiedHead nearest_tied_head(const HeadProduct& head);

struct TiedValueHead {
  ops::ComplexWeight v;  // [K/2, D/2]
  torch::Tensor o;       // [n D, K], columns in halves
};

// nearest_tied_head() with o free. The rows of a tied v span a space that i maps to itself: the one that carries most
// of o v is spanned by the K/2 leading eigenvectors of V (o' o) V^H, and o then takes what is there. The norm of v is
// kept.
TiedValueHead nearest_tied_value_head(const HeadProduct& head);

}  // namespace crope::interop
