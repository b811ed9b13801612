#include "crope/model/feed_forward.h"

#include "crope/ops/swiglu.h"

namespace crope::model {

torch::Tensor forward(const FeedForward& layer, const torch::Tensor& x) {
  return project(ops::swiglu(project(x, layer.gate), project(x, layer.up)), layer.down);
}

}  // namespace crope::model
