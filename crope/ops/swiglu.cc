#include "crope/ops/swiglu.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"
#include "crope/ops/slices.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TensorList swiglu_backward(const BackwardCall& call) {
  const Tensor &gate = call.saved[0], &up = call.saved[1], &g = call.grads[0];
  return {at::silu_backward(g * up, gate), at::silu(gate).mul_(g)};
}

// The same with both gradients as columns of one matrix, where gate and up are: the product behind takes them as one.
TensorList joined_swiglu_backward(const BackwardCall& call) {
  const Tensor &gate = call.saved[0], &up = call.saved[1], &g = call.grads[0];
  TensorList grads = empty_like_slices({gate, up});
  at::silu_backward_out(grads[0], g * up, gate);
  at::mul_out(grads[1], at::silu(gate), g);
  return grads;
}

// gate and up are [rows, N] with any distance between rows.
ForwardResult fused_swiglu_forward(const Kernels& kernels, const Tensor& gate, const Tensor& up) {
  const Tensor y = at::empty(gate.sizes(), gate.options());
  kernels.swiglu({.gate = view(gate), .up = view(up), .y = mutable_view(y)});
  return {.outputs = {y}, .saved = {gate, up}};
}

TensorList fused_swiglu_backward(const Kernels& kernels, const BackwardCall& call) {
  const Tensor &gate = call.saved[0], &up = call.saved[1], g = call.grads[0].contiguous();
  TensorList grads = empty_like_slices({gate, up});
  kernels.swiglu_backward({.gate = view(gate),
                           .up = view(up),
                           .grad_y = view(g),
                           .grad_gate = mutable_view(grads[0]),
                           .grad_up = mutable_view(grads[1])});
  return grads;
}

}  // namespace

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check_shape(gate.sizes() == up.sizes(), "swiglu", "up", "the shape of gate", up);
  const Kernels& kernels = kernels_for({gate, up});
  if (gate.dim() >= 1 && kernels.swiglu != nullptr) {
    const Tensor gate_rows = as_rows(gate), up_rows = as_rows(up);
    return with_gradient(
               "swiglu", {gate_rows, up_rows}, [&] { return fused_swiglu_forward(kernels, gate_rows, up_rows); },
               [&kernels](const BackwardCall& call) { return fused_swiglu_backward(kernels, call); })
        .front()
        .view(gate.sizes());
  }
  if (gate.dim() >= 1 && prefers_few_launches(gate)) {
    const Tensor gate_rows = as_rows(gate), up_rows = as_rows(up);
    const auto forward = [&] {
      return ForwardResult{.outputs = {at::silu(gate_rows).mul_(up_rows)}, .saved = {gate_rows, up_rows}};
    };
    return with_gradient("swiglu", {gate_rows, up_rows}, forward, joined_swiglu_backward).front().view(gate.sizes());
  }
  const auto forward = [&] { return ForwardResult{.outputs = {at::silu(gate).mul_(up)}, .saved = {gate, up}}; };
  return with_gradient("swiglu", {gate, up}, forward, swiglu_backward).front();
}

}  // namespace crope::ops
