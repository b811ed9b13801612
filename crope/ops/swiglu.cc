#include "crope/ops/swiglu.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"
#include "crope/ops/cpu/swiglu_rows.h"
#include "crope/ops/fused.h"
#include "crope/ops/gradient.h"
#include "crope/ops/slices.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TensorList swiglu_backward(const BackwardCall& call) {
  const Tensor &gate = call.saved[0], &up = call.saved[1], &g = call.grads[0];
  return {at::silu_backward(g * up, gate), at::silu(gate).mul_(g)};
}

// gate and up are [rows, N] with any distance between rows.
ForwardResult fused_swiglu_forward(const Tensor& gate, const Tensor& up) {
  const int64_t rows = gate.size(0), N = gate.size(1);
  Tensor y = at::empty({rows, N}, gate.options());
  const cpu::SwigluRows call{.N = N,
                             .gate = gate.const_data_ptr<float>(),
                             .gate_stride = gate.stride(0),
                             .up = up.const_data_ptr<float>(),
                             .up_stride = up.stride(0),
                             .y = y.data_ptr<float>()};
  parallel_rows(rows, 3 * N, [&](int64_t begin, int64_t end) { cpu::swiglu_rows(call, begin, end); });
  return {.outputs = {y}, .saved = {gate, up}};
}

TensorList fused_swiglu_backward(const BackwardCall& call) {
  const Tensor &gate = call.saved[0], &up = call.saved[1], g = call.grads[0].contiguous();
  const int64_t rows = gate.size(0), N = gate.size(1);
  const TensorList grads = empty_like_slices({gate, up});
  const cpu::SwigluRowsBackward rows_call{.N = N,
                                          .gate = gate.const_data_ptr<float>(),
                                          .gate_stride = gate.stride(0),
                                          .up = up.const_data_ptr<float>(),
                                          .up_stride = up.stride(0),
                                          .g = g.const_data_ptr<float>(),
                                          .grad_gate = grads[0].data_ptr<float>(),
                                          .grad_gate_stride = grads[0].stride(0),
                                          .grad_up = grads[1].data_ptr<float>(),
                                          .grad_up_stride = grads[1].stride(0)};
  parallel_rows(rows, 5 * N, [&](int64_t begin, int64_t end) { cpu::swiglu_rows_backward(rows_call, begin, end); });
  return grads;
}

}  // namespace

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check_shape(gate.sizes() == up.sizes(), "swiglu", "up", "the shape of gate", up);
  if (gate.dim() >= 1 && fused_for({gate, up})) {
    const Tensor gate_rows = as_rows(gate), up_rows = as_rows(up);
    return with_gradient(
               "swiglu", {gate_rows, up_rows}, [&] { return fused_swiglu_forward(gate_rows, up_rows); },
               fused_swiglu_backward)
        .front()
        .view(gate.sizes());
  }
  const auto forward = [&] { return ForwardResult{.outputs = {at::silu(gate).mul_(up)}, .saved = {gate, up}}; };
  return with_gradient("swiglu", {gate, up}, forward, swiglu_backward).front();
}

}  // namespace crope::ops
