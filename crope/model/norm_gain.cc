#include "crope/model/norm_gain.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"

namespace crope::model {
namespace {

using torch::Tensor;

// Whether the gain is one number per pair.
bool is_shared(const Tensor& gain, std::int64_t width) {
  const bool fits = gain.dim() == 1 && (gain.size(0) == width || 2 * gain.size(0) == width);
  ops::check_shape(fits, "expand_gain", "gain", "[N] or [N/2]", gain);
  return gain.size(0) != width;
}

}  // namespace

Tensor expand_gain(const Tensor& gain, std::int64_t width) {
  if (!gain.defined() || !is_shared(gain, width)) return gain;
  return at::cat({gain, gain});
}

Tensor expand_adjacent_gain(const Tensor& gain, std::int64_t width) {
  if (!gain.defined() || !is_shared(gain, width)) return gain;
  return gain.repeat_interleave(2);
}

}  // namespace crope::model
