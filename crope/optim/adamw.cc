#include "crope/optim/adamw.h"

#include <ATen/ATen.h>

#include <map>

#include "crope/ops/device.h"
#include "crope/ops/optimizer_update.h"
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
  ++steps_;
  if (!tensors_.empty() && ops::prefers_few_launches(tensors_.front().value)) return step_together(lr);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto& [value, weight_decay] = tensors_[i];
    if (!value.grad().defined()) continue;
    ops::adamw_step(value, value.grad(), first_[i], second_[i],
                    {.lr = lr,
                     .beta1 = options_.beta1,
                     .beta2 = options_.beta2,
                     .eps = options_.eps,
                     .weight_decay = weight_decay,
                     .steps = steps_});
  }
}

// ATen's fused step, once for each weight decay.
void Adamw::step_together(double lr) {
  const at::NoGradGuard no_grad;
  struct Group {
    std::vector<Tensor> values, grads, first, second;
  };
  std::map<double, Group> groups;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto& [value, weight_decay] = tensors_[i];
    if (!value.grad().defined()) continue;
    Group& group = groups[weight_decay];
    group.values.push_back(value);
    group.grads.push_back(value.grad());
    group.first.push_back(first_[i]);
    group.second.push_back(second_[i]);
  }
  const Tensor steps = at::full({}, static_cast<double>(steps_), tensors_.front().value.options().dtype(at::kFloat));
  for (auto& [weight_decay, group] : groups) {
    const std::vector<Tensor> all_steps(group.values.size(), steps);
    at::_fused_adamw_(group.values, group.grads, group.first, group.second, {}, all_steps, lr, options_.beta1,
                      options_.beta2, weight_decay, options_.eps, /*amsgrad=*/false, /*maximize=*/false);
  }
}

}  // namespace crope::optim
