#include "crope/optim/adamw.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/ops/cpu/optimizer_update.h"
#include "crope/ops/fused.h"
#include "crope/ops/profile.h"

namespace crope::optim {

using torch::Tensor;

Adamw::Adamw(std::vector<AdamwTensor> tensors, const AdamwOptions& options)
    : tensors_(std::move(tensors)), options_(options) {
  for (const AdamwTensor& tensor : tensors_) {
    first_.push_back(at::zeros_like(tensor.value));
    second_.push_back(at::zeros_like(tensor.value));
  }
}

void Adamw::step(double lr) {
  const ops::ProfiledPart part("adamw");
  const at::NoGradGuard no_grad;
  ++steps_;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Tensor value = tensors_[i].value;
    const Tensor& grad = value.grad();
    if (!grad.defined()) continue;
    const bool plain = value.is_contiguous() && grad.is_contiguous() && first_[i].is_contiguous();
    if (plain && ops::fused_for({value, grad, first_[i], second_[i]})) {
      float *values = value.data_ptr<float>(), *first = first_[i].data_ptr<float>();
      float* second = second_[i].data_ptr<float>();
      const float* grads = grad.const_data_ptr<float>();
      constexpr int64_t kFloatsTouched = 7;
      ops::parallel_rows(value.numel(), kFloatsTouched, [&](int64_t begin, int64_t end) {
        ops::cpu::adamw_update({.beta1 = static_cast<float>(options_.beta1),
                                .beta2 = static_cast<float>(options_.beta2),
                                .eps = static_cast<float>(options_.eps),
                                .keep = static_cast<float>(1 - lr * tensors_[i].weight_decay),
                                .rate = static_cast<float>(lr / correction1),
                                .second_scale = static_cast<float>(1 / correction2),
                                .grad = grads + begin,
                                .value = values + begin,
                                .first = first + begin,
                                .second = second + begin},
                               end - begin);
      });
      continue;
    }
    value.mul_(1 - lr * tensors_[i].weight_decay);
    first_[i].lerp_(grad, 1 - options_.beta1);
    second_[i].mul_(options_.beta2).addcmul_(grad, grad, 1 - options_.beta2);
    const Tensor scale = second_[i].sqrt().div_(std::sqrt(correction2)).add_(options_.eps);
    value.addcdiv_(first_[i], scale, -lr / correction1);
  }
}

}  // namespace crope::optim
