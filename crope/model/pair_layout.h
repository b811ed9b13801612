// Pairs on disk, halves in memory.
//
// Files hold the paper's layout: the complex number p is at (2p, 2p + 1). In memory every width that is complex is
// [re | im]: p is at p and at N + p. Then both halves are strided views, a rotation is two multiply-adds on them, and
// nothing has to be gathered. This is the only place that knows both.
#pragma once

#include <torch/types.h>

#include <span>

namespace crope::model {

// Reorders each of the given dimensions of `x` from adjacent pairs to halves. Always a new, contiguous tensor; `x`
// itself when `dimensions` is empty. REQUIRES: those dimensions are even.
torch::Tensor pairs_to_halves(const torch::Tensor& x, std::span<const int> dimensions);

// pairs_to_halves() into the type and onto the device of `options`: one pass, without a copy in between. `x` itself
// where nothing changes.
torch::Tensor pairs_to_halves(const torch::Tensor& x, std::span<const int> dimensions,
                              const torch::TensorOptions& options);

// The inverse of the first.
torch::Tensor halves_to_pairs(const torch::Tensor& x, std::span<const int> dimensions);

}  // namespace crope::model
