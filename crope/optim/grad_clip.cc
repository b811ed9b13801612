#include "crope/optim/grad_clip.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/ops/optimizer_update.h"

namespace crope::optim {

using torch::Tensor;

double gradient_norm(std::span<const Tensor> parameters) {
  double squares = 0;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) squares += ops::sum_of_squares(parameter.grad());
  }
  return std::sqrt(squares);
}

double clip_gradient_norm(std::span<const Tensor> parameters, double max_norm) {
  const double norm = gradient_norm(parameters);
  const double scale = max_norm / (norm + 1e-6);  // torch's guard against a division by zero
  if (!std::isfinite(norm) || scale >= 1) return norm;
  const at::NoGradGuard no_grad;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) parameter.grad().mul_(scale);
  }
  return norm;
}

}  // namespace crope::optim
