#include "crope/optim/grad_clip.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "crope/ops/cpu/optimizer_update.h"
#include "crope/ops/fused.h"

namespace crope::optim {

using torch::Tensor;

namespace {

// The same with any number of threads.
double sum_of_squares(const Tensor& grad) {
  if (!grad.is_contiguous() || !ops::fused_for({grad})) {
    const double norm = grad.norm().item<double>();
    return norm * norm;
  }
  const float* data = grad.const_data_ptr<float>();
  std::vector<double> partial(ops::kMostChunks, 0.0);
  ops::parallel_chunks(grad.numel(), 1, [&](int64_t chunk, int64_t begin, int64_t end) {
    partial[static_cast<std::size_t>(chunk)] = ops::cpu::sum_of_squares(data + begin, end - begin);
  });
  double squares = 0;
  for (const double part : partial) squares += part;
  return squares;
}

}  // namespace

double gradient_norm(std::span<const Tensor> parameters) {
  double squares = 0;
  for (const Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    squares += sum_of_squares(parameter.grad());
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
