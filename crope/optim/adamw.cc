#include "crope/optim/adamw.h"

#include <ATen/ATen.h>

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

}  // namespace crope::optim
