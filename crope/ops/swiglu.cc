#include "crope/ops/swiglu.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TensorList backward(const BackwardCall& call) {
  const Tensor &gate = call.saved[0], &up = call.saved[1], &g = call.grads[0];
  return {at::silu_backward(g * up, gate), at::silu(gate).mul_(g)};
}

}  // namespace

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check_shape(gate.sizes() == up.sizes(), "swiglu", "up", "the shape of gate", up);
  const auto forward = [&] { return ForwardResult{.outputs = {at::silu(gate).mul_(up)}, .saved = {gate, up}}; };
  return with_gradient({gate, up}, forward, backward).front();
}

}  // namespace crope::ops
