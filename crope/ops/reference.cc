#include "crope/ops/reference.h"

#include <ATen/ATen.h>

namespace crope::ops::reference {

using torch::Tensor;

Tensor linear(const Tensor& x, const Tensor& weight) {
  return at::matmul(x, weight.t());
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  return at::matmul(at::one_hot(ids, weight.size(0)).to(weight.scalar_type()), weight);
}

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

Tensor rotary_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain, const Tensor& k_gain,
                        const Tensor& positions, double rope_base, const RotaryAttentionOptions& options) {
  const int64_t H = options.num_heads, G = options.kv_heads();
  // Head h of [B, T, 2 heads P]: pairs h P to (h + 1) P, their real parts and then their imaginary ones.
  const auto head_of = [&](const Tensor& x, int64_t h, int64_t heads) {
    const int64_t P = x.size(-1) / (2 * heads);
    return at::cat({x.narrow(-1, h * P, P), x.narrow(-1, (heads + h) * P, P)}, -1);
  };
  const auto rotated = [&](const Tensor& x, const Tensor& gain) {
    return rope(gain.defined() ? rms_norm(x, gain, options.norm_eps) : x, positions, rope_base);
  };
  std::vector<Tensor> re, im;
  for (int64_t h = 0; h < H; ++h) {
    const int64_t g = h / (H / G);
    const Tensor out = attention(rotated(head_of(q, h, H), q_gain), rotated(head_of(k, g, G), k_gain), head_of(v, g, G),
                                 {.scale = options.scale});
    const std::vector<Tensor> halves = out.chunk(2, -1);
    re.push_back(halves[0]);
    im.push_back(halves[1]);
  }
  re.insert(re.end(), im.begin(), im.end());
  return at::cat(re, -1);
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  const Tensor log_probabilities = at::log_softmax(at::matmul(x, weight.t()), -1);
  return -log_probabilities.gather(1, targets.unsqueeze(1)).mean();
}

Tensor linear_distillation(const Tensor& x, const Tensor& weight, const Tensor& targets, const TaughtRows& teacher,
                           const DistillationOptions& options) {
  const double w = options.weight, t = options.temperature;
  Tensor taught = at::linear(teacher.x, teacher.weight) / t;
  if (options.top_k > 0 && options.top_k < taught.size(1)) {
    const Tensor least = std::get<0>(at::topk(taught, options.top_k, -1)).amin(-1, /*keepdim=*/true);
    taught = taught.masked_fill(taught < least, -std::numeric_limits<double>::infinity());
  }
  const Tensor p = at::softmax(taught, -1), log_q = at::log_softmax(at::linear(x, weight) / t, -1);
  const Tensor divergence = at::xlogy(p, p).sum(-1) - (p * log_q).sum(-1);
  return (1 - w) * reference::linear_cross_entropy(x, weight, targets) + w * t * t * divergence.mean();
}

Tensor newton_schulz(const Tensor& x, const NewtonSchulzOptions& options) {
  const auto [c0, c1, c2] = options.coefficients;
  Tensor y = x / x.norm().clamp_min(options.eps);
  for (int step = 0; step < options.steps; ++step) {
    const Tensor s = at::matmul(y, y.t());
    y = c0 * y + at::matmul(c1 * s + c2 * at::matmul(s, s), y);
  }
  return y;
}

ComplexWeight newton_schulz(const ComplexWeight& pair, const NewtonSchulzOptions& options) {
  return contract(reference::newton_schulz(expand(pair), options));
}

}  // namespace crope::ops::reference
