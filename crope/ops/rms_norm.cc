#include "crope/ops/rms_norm.h"

#include <ATen/ATen.h>

#include <vector>

#include "crope/base/parallel.h"
#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"
#include "crope/ops/normalised.h"

namespace crope::ops {
namespace {

using torch::Tensor;

ForwardResult rms_norm_forward(const Tensor& x, const Tensor& gain, double eps) {
  Normalised result = normalised(x, gain, eps);
  return {.outputs = {std::move(result.y)}, .saved = {x, gain, std::move(result.scale)}};
}

TensorList rms_norm_backward(const BackwardCall& call) {
  NormGradients grads =
      normalised_backward(call.grads[0], call.saved[0], call.saved[1], call.saved[2], call.needed[0], call.needed[1]);
  return {std::move(grads.x), std::move(grads.gain)};
}

// The same in one pass over memory. `added` may be undefined. Outputs: y, and the sum if there is one.
ForwardResult fused_rms_norm_forward(const Kernels& kernels, const Tensor& x_in, const Tensor& added_in,
                                     const Tensor& gain_in, double eps) {
  const Tensor x = x_in.contiguous(), gain = gain_in.contiguous();
  const Tensor added = added_in.defined() ? added_in.contiguous() : Tensor();
  const Tensor y = at::empty(x.sizes(), x.options());
  const Tensor sum = added.defined() ? at::empty(x.sizes(), x.options()) : Tensor();
  const Tensor scale = at::empty({x.numel() / x.size(-1)}, x.options());
  kernels.rms_norm({.x = view(x),
                    .added = view(added),
                    .gain = view(gain),
                    .eps = static_cast<float>(eps),
                    .sum = mutable_view(sum),
                    .y = mutable_view(y),
                    .scale = mutable_view(scale)});
  if (!added.defined()) return {.outputs = {y}, .saved = {x, gain, scale}};
  return {.outputs = {y, sum}, .saved = {sum.detach(), gain, scale}};
}

// The gradients of x, `added` and the gain.
TensorList fused_rms_norm_backward(const Kernels& kernels, const BackwardCall& call) {
  const Tensor &s = call.saved[0], &gain = call.saved[1], &scale = call.saved[2];
  // The outputs are y and, if something was added, the sum; either may go unused.
  const Tensor from_sum = call.grads.size() > 1 ? call.grads[1] : Tensor();
  if (!call.grads[0].defined()) return {from_sum, from_sum, Tensor()};
  const Tensor grad_y = call.grads[0].contiguous(), grad_sum = from_sum.defined() ? from_sum.contiguous() : Tensor();
  const int64_t N = s.size(-1), rows = s.numel() / N;
  const Tensor grad_x = at::empty(s.sizes(), s.options());
  const bool gain_needed = call.needed[2];
  const Tensor gain_parts = gain_needed ? at::zeros({chunk_count(rows, 4 * N), N}, s.options()) : Tensor();
  kernels.rms_norm_backward({.sum = view(s),
                             .gain = view(gain),
                             .scale = view(scale),
                             .grad_y = view(grad_y),
                             .grad_sum = view(grad_sum),
                             .grad_x = mutable_view(grad_x),
                             .gain_parts = mutable_view(gain_parts)});
  return {grad_x, grad_x, gain_needed ? gain_parts.sum(0) : Tensor()};
}

TensorList fused_rms_norm(const Kernels& kernels, const Tensor& x, const Tensor& added, const Tensor& gain,
                          double eps) {
  return with_gradient(
      "rms_norm", {x, added, gain}, [&] { return fused_rms_norm_forward(kernels, x, added, gain, eps); },
      [&kernels](const BackwardCall& call) { return fused_rms_norm_backward(kernels, call); });
}

void check_width(const Tensor& x, const Tensor& gain) {
  check_shape(gain.dim() == 1 && x.dim() >= 1 && x.size(-1) == gain.size(0), "rms_norm", "x",
              "[..., N] with N the size of the gain", x);
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  check_width(x, gain);
  const Kernels& kernels = kernels_for({x, gain});
  if (kernels.rms_norm != nullptr) return fused_rms_norm(kernels, x, {}, gain, eps).front();
  return with_gradient(
             "rms_norm", {x, gain}, [&] { return rms_norm_forward(x, gain, eps); }, rms_norm_backward)
      .front();
}

SumAndNorm add_rms_norm(const Tensor& x, const Tensor& added, const Tensor& gain, double eps) {
  check_width(x, gain);
  check_shape(added.sizes() == x.sizes(), "add_rms_norm", "added", "the shape of x", added);
  const Kernels& kernels = kernels_for({x, added, gain});
  if (kernels.rms_norm == nullptr) {
    Tensor sum = x + added;
    Tensor norm = rms_norm(sum, gain, eps);
    return {std::move(sum), std::move(norm)};
  }
  const TensorList outputs = fused_rms_norm(kernels, x, added, gain, eps);
  return {outputs[1], outputs[0]};
}

}  // namespace crope::ops
