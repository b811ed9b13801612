#include "crope/ops/optimizer_update.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "crope/ops/device.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// The kernels for tensors without gaps.
const Kernels& flat_kernels_for(std::initializer_list<Tensor> tensors) {
  static constexpr Kernels kNone;
  return std::ranges::all_of(tensors, [](const Tensor& x) { return x.is_contiguous(); }) ? kernels_for(tensors) : kNone;
}

}  // namespace

void adamw_step(const Tensor& value, const Tensor& grad, const Tensor& first, const Tensor& second,
                const AdamwStep& step) {
  const at::NoGradGuard no_grad;
  const double correction1 = 1 - std::pow(step.beta1, static_cast<double>(step.steps));
  const double correction2 = 1 - std::pow(step.beta2, static_cast<double>(step.steps));
  const double keep = 1 - step.lr * step.weight_decay, rate = step.lr / correction1;
  if (const auto kernel = flat_kernels_for({value, grad, first, second}).adamw_update) {
    return kernel({.beta1 = static_cast<float>(step.beta1),
                   .beta2 = static_cast<float>(step.beta2),
                   .eps = static_cast<float>(step.eps),
                   .keep = static_cast<float>(keep),
                   .rate = static_cast<float>(rate),
                   .second_scale = static_cast<float>(1 / correction2),
                   .grad = flat_view(grad),
                   .value = mutable_flat_view(value),
                   .first = mutable_flat_view(first),
                   .second = mutable_flat_view(second)});
  }
  value.mul_(keep);
  first.lerp_(grad, 1 - step.beta1);
  second.mul_(step.beta2).addcmul_(grad, grad, 1 - step.beta2);
  const Tensor scale = second.sqrt().div_(std::sqrt(correction2)).add_(step.eps);
  value.addcdiv_(first, scale, -rate);
}

Tensor momentum_step(const Tensor& buffer, const Tensor& grad, const MomentumOptions& options) {
  const at::NoGradGuard no_grad;
  const auto kernel = options.in_torch_order ? nullptr : flat_kernels_for({buffer, grad}).momentum_update;
  if (kernel != nullptr) {
    const Tensor update = at::empty(grad.sizes(), grad.options());
    kernel({.momentum = static_cast<float>(options.momentum),
            .nesterov = options.nesterov,
            .grad = flat_view(grad),
            .buffer = mutable_flat_view(buffer),
            .update = mutable_flat_view(update)});
    return update;
  }
  buffer.lerp_(grad, 1 - options.momentum);
  return options.nesterov ? grad.lerp(buffer, options.momentum) : buffer.clone();
}

void decay_and_subtract(const Tensor& value, const Tensor& direction, double keep, double rate) {
  const at::NoGradGuard no_grad;
  if (const auto kernel = flat_kernels_for({value, direction}).decay_and_subtract) {
    return kernel({.value = mutable_flat_view(value),
                   .direction = flat_view(direction),
                   .keep = static_cast<float>(keep),
                   .rate = static_cast<float>(rate)});
  }
  value.mul_(keep).add_(direction, -rate);
}

double sum_of_squares(const Tensor& x) {
  if (const auto kernel = flat_kernels_for({x}).sum_of_squares) return kernel(flat_view(x));
  const double norm = at::linalg_vector_norm(x, 2, {}, false, at::kDouble).item<double>();
  return norm * norm;
}

}  // namespace crope::ops
