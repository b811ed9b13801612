#include "crope/ops/reference.h"

#include <ATen/ATen.h>

namespace crope::ops::reference {

using torch::Tensor;

Tensor block_linear(const Tensor& x, const ComplexWeight& weight) {
  return at::matmul(x, expand(weight).t());
}

Tensor rope(const Tensor& x, const Tensor& positions, double base) {
  const int64_t K = x.size(-1);
  const auto fp64 = positions.options().dtype(torch::kFloat64);
  const Tensor theta = at::pow(base, at::arange(0, K, 2, fp64) / static_cast<double>(-K));
  const Tensor angle = at::outer(positions.to(torch::kFloat64), theta).to(x.scalar_type());
  const std::vector<Tensor> halves = x.chunk(2, -1);
  const Tensor rotated = at::complex(halves[0], halves[1]) * at::polar(at::ones_like(angle), angle);
  return at::cat({at::real(rotated), at::imag(rotated)}, -1);
}

Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  return x / at::sqrt(at::mean(x * x, {-1}, /*keepdim=*/true) + eps) * gain;
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  return gate * at::sigmoid(gate) * up;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  Tensor scores = at::matmul(q, k.transpose(-1, -2)) * options.scale;
  if (options.mask == Mask::causal) {
    const int64_t T = q.size(-2);
    const Tensor future = at::ones({T, T}, q.options().dtype(torch::kBool)).triu(1);
    scores = scores.masked_fill(future, -INFINITY);
  }
  return at::matmul(at::softmax(scores, -1), v);
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  const Tensor log_probabilities = at::log_softmax(at::matmul(x, weight.t()), -1);
  return -log_probabilities.gather(1, targets.unsqueeze(1)).mean();
}

ComplexWeight newton_schulz(const ComplexWeight& pair, const NewtonSchulzOptions& options) {
  return contract(ops::newton_schulz(expand(pair), options));
}

}  // namespace crope::ops::reference
