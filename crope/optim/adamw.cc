#include "crope/optim/adamw.h"

#include <ATen/ATen.h>

#include <cmath>

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
  const at::NoGradGuard no_grad;
  ++steps_;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Tensor value = tensors_[i].value;
    const Tensor& grad = value.grad();
    if (!grad.defined()) continue;
    value.mul_(1 - lr * tensors_[i].weight_decay);
    first_[i].lerp_(grad, 1 - options_.beta1);
    second_[i].mul_(options_.beta2).addcmul_(grad, grad, 1 - options_.beta2);
    const Tensor scale = second_[i].sqrt().div_(std::sqrt(correction2)).add_(options_.eps);
    value.addcdiv_(first_[i], scale, -lr / correction1);
  }
}

}  // namespace crope::optim
