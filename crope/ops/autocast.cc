#include "crope/ops/autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

namespace crope::ops {

using torch::Tensor;

namespace {

bool is_cast(const Tensor& x) {
  return x.scalar_type() == torch::kFloat32 && at::autocast::is_autocast_enabled(x.device().type());
}

}  // namespace

Tensor autocast_input(const Tensor& x) {
  return is_cast(x) ? x.to(at::autocast::get_autocast_dtype(x.device().type())) : x;
}

bool is_cast_by_autocast(const Tensor& weight, const Tensor& x) {
  return weight.scalar_type() == torch::kFloat32 && at::autocast::is_autocast_enabled(x.device().type());
}

Tensor autocast_weight(const Tensor& weight, const Tensor& x) {
  const auto device = x.device().type();
  if (!is_cast_by_autocast(weight, x)) return weight;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), weight, device);
}

}  // namespace crope::ops
