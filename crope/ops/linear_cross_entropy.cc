#include "crope/ops/linear_cross_entropy.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/ops/check.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kName = "linear_cross_entropy";

// Rows whose logits take about 64 MB: enough of them to keep the products at full speed, few enough to stay small
// beside the weights.
int64_t chunk_rows(int64_t V) {
  constexpr int64_t kLogitsPerChunk = int64_t{1} << 24;
  return std::clamp<int64_t>(kLogitsPerChunk / V, 64, 4096);
}

// Calls visit(first row, x rows, target rows) for each chunk.
template <typename Visit>
void for_each_chunk(const Tensor& x, const Tensor& weight, const Tensor& targets, const Visit& visit) {
  const int64_t step = chunk_rows(weight.size(0));
  for (int64_t row = 0; row < x.size(0); row += step) {
    const int64_t rows = std::min(step, x.size(0) - row);
    visit(row, x.narrow(0, row, rows), targets.narrow(0, row, rows));
  }
}

// Logits of a chunk, in fp32 at least: the softmax of bf16 logits loses the loss's last digits.
Tensor chunk_logits(const Tensor& x, const Tensor& weight) {
  const Tensor logits = x.mm(weight.t());
  return logits.scalar_type() == torch::kFloat64 ? logits : logits.to(torch::kFloat32);
}

// Turns logits into log-probabilities in place and returns the rows' losses.
Tensor normalise_logits(Tensor& logits, const Tensor& targets) {
  logits.sub_(logits.logsumexp(-1, /*keepdim=*/true));
  return logits.gather(1, targets.unsqueeze(1)).squeeze(1).neg();
}

void check_inputs(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  check_shape(weight.dim() == 2, kName, "weight", "[V, D]", weight);
  check_shape(x.dim() == 2 && x.size(0) > 0 && x.size(1) == weight.size(1), kName, "x", "[R, D] with R > 0", x);
  check_shape(targets.dim() == 1 && targets.size(0) == x.size(0), kName, "targets", "[R]", targets);
}

// dL/dlogits = (softmax - onehot) / R, so both gradients follow from a chunk while it is there.
ForwardResult forward(const Tensor& x, const Tensor& weight, const Tensor& targets, bool with_gradients) {
  Tensor grad_x, grad_weight;
  if (with_gradients) {
    grad_x = at::empty_like(x);
    grad_weight = at::zeros_like(weight);
  }
  const double share = 1.0 / static_cast<double>(x.size(0));
  Tensor loss = at::zeros({}, x.options().dtype(torch::kFloat64));
  for_each_chunk(x, weight, targets, [&](int64_t row, const Tensor& x_rows, const Tensor& target_rows) {
    Tensor logits = chunk_logits(x_rows, weight);
    loss += normalise_logits(logits, target_rows).sum(torch::kFloat64);
    if (!with_gradients) return;
    logits.exp_();
    logits.scatter_add_(1, target_rows.unsqueeze(1), at::full({target_rows.size(0), 1}, -1.0, logits.options()));
    const Tensor grad_logits = logits.mul_(share).to(x.scalar_type());
    Tensor grad_rows = grad_x.narrow(0, row, x_rows.size(0));
    at::mm_out(grad_rows, grad_logits, weight);
    grad_weight.addmm_(grad_logits.t(), x_rows);
  });
  const auto type = x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  return {.outputs = {(loss * share).to(type)}, .saved = {grad_x, grad_weight}};
}

TensorList backward(const BackwardCall& call) {
  return {call.saved[0] * call.grads[0], call.saved[1] * call.grads[0]};
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  check_inputs(x, weight, targets);
  const bool with_gradients = needs_gradient({x, weight});
  return with_gradient(
             {x, weight}, [&] { return forward(x, weight, targets, with_gradients); }, backward)
      .front();
}

Tensor linear_token_losses(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  check_inputs(x, weight, targets);
  const at::NoGradGuard no_grad;
  std::vector<Tensor> losses;
  for_each_chunk(x, weight, targets, [&](int64_t, const Tensor& x_rows, const Tensor& target_rows) {
    Tensor logits = chunk_logits(x_rows, weight);
    losses.push_back(normalise_logits(logits, target_rows));
  });
  return at::cat(losses);
}

}  // namespace crope::ops
