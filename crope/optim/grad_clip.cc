#include "crope/optim/grad_clip.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "crope/ops/device.h"
#include "crope/ops/optimizer_update.h"

namespace crope::optim {

using torch::Tensor;

namespace {

std::vector<Tensor> gradients_of(std::span<const Tensor> parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

}  // namespace

double gradient_norm(std::span<const Tensor> parameters) {
  if (!parameters.empty() && ops::prefers_few_launches(parameters.front())) {
    const std::vector<Tensor> gradients = gradients_of(parameters);
    if (gradients.empty()) return 0;
    // One number is read back.
    return at::stack(at::_foreach_norm(gradients, 2, at::kDouble)).norm().item<double>();
  }
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
  if (const std::vector<Tensor> gradients = gradients_of(parameters); !gradients.empty()) {
    at::_foreach_mul_(gradients, scale);
  }
  return norm;
}

}  // namespace crope::optim
