#include "crope/model/feed_forward.h"

#include <array>

#include "crope/ops/swiglu.h"

namespace crope::model {

torch::Tensor forward(const FeedForward& layer, const torch::Tensor& x) {
  const auto [gate, up] = ops::project(x, std::array{layer.gate, layer.up});
  return ops::project(ops::swiglu(gate, up), layer.down);
}

}  // namespace crope::model
