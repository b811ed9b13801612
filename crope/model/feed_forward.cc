#include "crope/model/feed_forward.h"

#include <array>

#include "crope/ops/swiglu.h"

namespace crope::model {

torch::Tensor gated(const FeedForward& layer, const torch::Tensor& x) {
  const auto [gate, up] = ops::project(x, std::array{layer.gate, layer.up});
  return ops::swiglu(gate, up);
}

torch::Tensor forward(const FeedForward& layer, const torch::Tensor& x) {
  return ops::project(gated(layer, x), layer.down);
}

}  // namespace crope::model
