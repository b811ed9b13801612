#include "crope/ops/rms_norm.h"

#include <ATen/ATen.h>

#include <vector>

#include "crope/ops/check.h"
#include "crope/ops/cpu/rms_norm_rows.h"
#include "crope/ops/fused.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// bf16 and fp16 lose the tail of a sum of squares.
torch::ScalarType accumulation_type(const Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

ForwardResult rms_norm_forward(const Tensor& x, const Tensor& gain, double eps) {
  const Tensor wide = x.to(accumulation_type(x));
  const Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return {.outputs = {(wide * scale * gain).to(x.scalar_type())}, .saved = {x, gain, scale}};
}

// With r = 1/sqrt(mean(x^2) + eps), n = r x and u = g * gain:
//   gx = r (u - n mean(u n)),   g_gain = sum over rows of g n.
TensorList rms_norm_backward(const BackwardCall& call) {
  const Tensor &x = call.saved[0], &gain = call.saved[1], &scale = call.saved[2];
  const Tensor g = call.grads[0].to(scale.scalar_type());
  const Tensor normalised = x.to(scale.scalar_type()) * scale;
  Tensor grad_x, grad_gain;
  if (call.needed[0]) {
    const Tensor u = g * gain;
    grad_x = ((u - normalised * (u * normalised).mean(-1, /*keepdim=*/true)) * scale).to(x.scalar_type());
  }
  if (call.needed[1]) {
    grad_gain = (g * normalised).reshape({-1, x.size(-1)}).sum(0).to(gain.scalar_type());
  }
  return {grad_x, grad_gain};
}

// The same in one pass over memory. `added` may be undefined. Outputs: y, and the sum if there is one.
ForwardResult fused_rms_norm_forward(const Tensor& x_in, const Tensor& added_in, const Tensor& gain_in, double eps) {
  const Tensor x = x_in.contiguous(), gain = gain_in.contiguous();
  const Tensor added = added_in.defined() ? added_in.contiguous() : Tensor();
  const int64_t N = x.size(-1), rows = x.numel() / N;
  Tensor y = at::empty(x.sizes(), x.options());
  Tensor sum = added.defined() ? at::empty(x.sizes(), x.options()) : Tensor();
  Tensor scale = at::empty({rows}, x.options());
  const cpu::RmsNormRows call{.N = N,
                              .x = x.const_data_ptr<float>(),
                              .added = added.defined() ? added.const_data_ptr<float>() : nullptr,
                              .gain = gain.const_data_ptr<float>(),
                              .eps = static_cast<float>(eps),
                              .sum = sum.defined() ? sum.data_ptr<float>() : nullptr,
                              .y = y.data_ptr<float>(),
                              .scale = scale.data_ptr<float>()};
  parallel_rows(rows, 4 * N, [&](int64_t begin, int64_t end) { cpu::rms_norm_rows(call, begin, end); });
  if (!added.defined()) return {.outputs = {y}, .saved = {x, gain, scale}};
  return {.outputs = {y, sum}, .saved = {sum.detach(), gain, scale}};
}

struct FusedGradients {
  Tensor sum, gain;
};
// g and g_sum may be undefined; the result then is what is left of the formula.
FusedGradients fused_rms_norm_backward(const BackwardCall& call, const Tensor& g_in, const Tensor& g_sum_in,
                                       bool gain_needed) {
  const Tensor &s = call.saved[0], &gain = call.saved[1], &scale = call.saved[2];
  if (!g_in.defined()) return {.sum = g_sum_in, .gain = {}};
  const Tensor g = g_in.contiguous(), g_sum = g_sum_in.defined() ? g_sum_in.contiguous() : Tensor();
  const int64_t N = s.size(-1), rows = s.numel() / N;
  Tensor grad = at::empty(s.sizes(), s.options());
  Tensor partial = gain_needed ? at::zeros({chunk_count(rows, 4 * N), N}, s.options()) : Tensor();
  parallel_chunks(rows, 4 * N, [&](int64_t chunk, int64_t begin, int64_t end) {
    cpu::rms_norm_rows_backward({.N = N,
                                 .s = s.const_data_ptr<float>(),
                                 .gain = gain.const_data_ptr<float>(),
                                 .scale = scale.const_data_ptr<float>(),
                                 .g = g.const_data_ptr<float>(),
                                 .g_sum = g_sum.defined() ? g_sum.const_data_ptr<float>() : nullptr,
                                 .gx = grad.data_ptr<float>(),
                                 .grad_gain = gain_needed ? partial.data_ptr<float>() + chunk * N : nullptr},
                                begin, end);
  });
  return {.sum = grad, .gain = gain_needed ? partial.sum(0) : Tensor()};
}

void check_width(const Tensor& x, const Tensor& gain) {
  check_shape(gain.dim() == 1 && x.dim() >= 1 && x.size(-1) == gain.size(0), "rms_norm", "x",
              "[..., N] with N the size of the gain", x);
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  check_width(x, gain);
  if (fused_for({x, gain})) {
    const auto fused = [](const BackwardCall& call) -> TensorList {
      FusedGradients grads = fused_rms_norm_backward(call, call.grads[0], {}, call.needed[1]);
      return {grads.sum, grads.gain};
    };
    return with_gradient(
               "rms_norm", {x, gain}, [&] { return fused_rms_norm_forward(x, {}, gain, eps); }, fused)
        .front();
  }
  return with_gradient(
             "rms_norm", {x, gain}, [&] { return rms_norm_forward(x, gain, eps); }, rms_norm_backward)
      .front();
}

SumAndNorm add_rms_norm(const Tensor& x, const Tensor& added, const Tensor& gain, double eps) {
  check_width(x, gain);
  check_shape(added.sizes() == x.sizes(), "add_rms_norm", "added", "the shape of x", added);
  if (!fused_for({x, added, gain})) {
    Tensor sum = x + added;
    Tensor norm = rms_norm(sum, gain, eps);
    return {std::move(sum), std::move(norm)};
  }
  const auto fused = [](const BackwardCall& call) -> TensorList {
    FusedGradients grads = fused_rms_norm_backward(call, call.grads[0], call.grads[1], call.needed[2]);
    return {grads.sum, grads.sum, grads.gain};
  };
  TensorList outputs = with_gradient(
      "rms_norm", {x, added, gain}, [&] { return fused_rms_norm_forward(x, added, gain, eps); }, fused);
  return {outputs[1], outputs[0]};
}

}  // namespace crope::ops
