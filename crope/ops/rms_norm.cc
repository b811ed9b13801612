#include "crope/ops/rms_norm.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// bf16 and fp16 lose the tail of a sum of squares.
torch::ScalarType accumulation_type(const Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

ForwardResult forward(const Tensor& x, const Tensor& gain, double eps) {
  const Tensor wide = x.to(accumulation_type(x));
  const Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return {.outputs = {(wide * scale * gain).to(x.scalar_type())}, .saved = {x, gain, scale}};
}

// With r = 1/sqrt(mean(x^2) + eps), n = r x and u = g * gain:
//   gx = r (u - n mean(u n)),   g_gain = sum over rows of g n.
TensorList backward(const BackwardCall& call) {
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

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  check_shape(gain.dim() == 1 && x.dim() >= 1 && x.size(-1) == gain.size(0), "rms_norm", "x",
              "[..., N] with N the size of the gain", x);
  return with_gradient(
             {x, gain}, [&] { return forward(x, gain, eps); }, backward)
      .front();
}

}  // namespace crope::ops
