// The gain of a norm, whatever its parameter holds: one number per coordinate or one per complex pair.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace crope::model {

// The gain [width] in halves, from a parameter of [width] or, shared by the two parts of each pair, [width / 2].
// Differentiable. An undefined gain stays undefined: nothing is normalised there.
torch::Tensor expand_gain(const torch::Tensor& gain, std::int64_t width);

// expand_gain() for a gain in adjacent pairs, as files hold it.
torch::Tensor expand_adjacent_gain(const torch::Tensor& gain, std::int64_t width);

}  // namespace crope::model
