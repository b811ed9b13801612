#include "crope/ops/normalised.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <array>

namespace crope::ops {
namespace {

using torch::Tensor;

// bf16 and fp16 lose the tail of a sum of squares.
torch::ScalarType accumulation_type(const Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

// ATen decomposes the forward pass where there is no kernel, but not the backward pass: that one tells.
bool has_fused_kernel(const Tensor& x, const Tensor& gain) {
  if (x.is_cpu() || x.scalar_type() != gain.scalar_type() || !x.is_contiguous()) return false;
  static const auto backward = c10::Dispatcher::singleton().findSchema({"aten::_fused_rms_norm_backward", ""});
  return backward && backward->hasKernelForDispatchKey(c10::highestPriorityBackendTypeId(x.key_set()));
}

}  // namespace

Normalised normalised(const Tensor& x, const Tensor& gain, double eps) {
  if (has_fused_kernel(x, gain)) {
    auto [y, scale] = at::_fused_rms_norm(x, {x.size(-1)}, gain, eps);
    return {std::move(y), std::move(scale)};
  }
  const Tensor wide = x.to(accumulation_type(x));
  Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return {(wide * scale * gain).to(x.scalar_type()), std::move(scale)};
}

// With r = 1/sqrt(mean(x^2) + eps), n = r x and u = g * gain:
//   gx = r (u - n mean(u n)),   g_gain = sum over rows of g n.
NormGradients normalised_backward(const Tensor& grad_y, const Tensor& x, const Tensor& gain, const Tensor& scale,
                                  bool wants_x, bool wants_gain) {
  if (has_fused_kernel(x, gain) && grad_y.scalar_type() == x.scalar_type()) {
    auto [grad_x, grad_gain] = at::_fused_rms_norm_backward(grad_y.contiguous(), x, {x.size(-1)}, scale, gain,
                                                            std::array{wants_x, wants_gain});
    return {std::move(grad_x), std::move(grad_gain)};
  }
  const Tensor g = grad_y.to(scale.scalar_type());
  const Tensor n = x.to(scale.scalar_type()) * scale;
  NormGradients result;
  if (wants_x) {
    const Tensor u = g * gain;
    result.x = ((u - n * (u * n).mean(-1, /*keepdim=*/true)) * scale).to(x.scalar_type());
  }
  if (wants_gain) result.gain = (g * n).reshape({-1, x.size(-1)}).sum(0).to(gain.scalar_type());
  return result;
}

}  // namespace crope::ops
