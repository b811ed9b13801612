#include "crope/ops/linear_cross_entropy.h"

#include <ATen/ATen.h>

#include <vector>

#include "crope/ops/autocast.h"
#include "crope/ops/check.h"
#include "crope/ops/derived_weights.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"
#include "crope/ops/logit_chunks.h"
#include "crope/ops/products.h"
#include "crope/ops/profile.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kLinearCrossEntropy = "linear_cross_entropy";

constexpr int64_t kLogitsPerChunk = int64_t{1} << 26;  // 256 MB

// Calls visit(first row, x rows, target rows) for each chunk.
template <typename Visit>
void for_each_chunk(const Tensor& x, const Tensor& weight, const Tensor& targets, const Visit& visit) {
  for_each_logit_chunk(x.size(0), weight.size(0), kLogitsPerChunk, [&](int64_t row, int64_t rows) {
    visit(row, x.narrow(0, row, rows), targets.narrow(0, row, rows));
  });
}

// The losses [R] of logits[R, V], which become share (softmax - onehot(target)), or anything where share is 0.
Tensor losses_of(const Tensor& logits, const Tensor& targets, double share) {
  const Tensor target_list = targets.contiguous();
  if (const auto kernel = kernels_for({logits}).cross_entropy_rows) {
    const Tensor losses = at::empty(targets.sizes(), logits.options().dtype(torch::kFloat64));
    kernel({.logits = mutable_view(logits),
            .targets = id_view(target_list),
            .share = static_cast<float>(share),
            .losses = mutable_double_view(losses)});
    return losses;
  }
  logits.sub_(logits.logsumexp(-1, /*keepdim=*/true));
  const Tensor losses = logits.gather(1, targets.unsqueeze(1)).squeeze(1).neg();
  if (share == 0) return losses;
  logits.exp_().scatter_add_(1, targets.unsqueeze(1), at::full({targets.size(0), 1}, -1.0, logits.options()));
  logits.mul_(share);
  return losses;
}

void check_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  check_shape(weight.dim() == 2, kLinearCrossEntropy, "weight", "[V, D]", weight);
  check_shape(x.dim() == 2 && x.size(0) > 0 && x.size(1) == weight.size(1), kLinearCrossEntropy, "x",
              "[R, D] with R > 0", x);
  check_shape(targets.dim() == 1 && targets.size(0) == x.size(0), kLinearCrossEntropy, "targets", "[R]", targets);
}

// dL/dlogits = (softmax - onehot) / R, so both gradients follow from a chunk of logits while it is there.
ForwardResult cross_entropy_forward(const Tensor& x, const Tensor& weight, const Tensor& targets, bool with_gradients) {
  const int64_t R = x.size(0), V = weight.size(0);
  const auto type = logit_type(x);
  const bool is_wide = x.scalar_type() == type;
  Tensor grad_x, grad_weight;
  if (with_gradients) {
    grad_x = at::empty(x.sizes(), x.options());
    grad_weight = at::empty(weight.sizes(), weight.options().dtype(type));
  }
  const double share = 1.0 / static_cast<double>(R);
  const Tensor loss = at::zeros({}, x.options().dtype(torch::kFloat64));
  const Tensor buffer = at::empty({logit_chunk_rows(R, V, kLogitsPerChunk), V}, x.options().dtype(type));
  for_each_chunk(x, weight, targets, [&](int64_t row, const Tensor& x_rows, const Tensor& target_rows) {
    const Tensor logits = buffer.narrow(0, 0, x_rows.size(0));
    if (is_wide) {
      multiply(logits, x_rows, weight.t());
    } else {
      logits.copy_(x_rows.mm(weight.t()));
    }
    loss.add_(losses_of(logits, target_rows, with_gradients ? share : 0).sum(torch::kFloat64));
    if (!with_gradients) return;
    const Tensor grad_logits = logits.to(x.scalar_type());
    multiply(grad_x.narrow(0, row, x_rows.size(0)), grad_logits, weight);
    if (is_wide) {
      multiply(grad_weight, grad_logits.t(), x_rows, /*add=*/row > 0);
    } else {
      const Tensor part = grad_logits.t().mm(x_rows);
      row > 0 ? grad_weight.add_(part) : grad_weight.copy_(part);
    }
  });
  if (with_gradients) grad_weight = grad_weight.to(weight.scalar_type());
  return {.outputs = {(loss * share).to(type)}, .saved = {grad_x, grad_weight}};
}

// The same in few launches. `weight` may be wider than x: products read its cast, and its gradient has its type.
ForwardResult few_launch_forward(const Tensor& x, const Tensor& weight, const Tensor& targets, bool with_gradients) {
  const auto type = logit_type(x);
  const double share = 1.0 / static_cast<double>(x.size(0));
  const Tensor narrow = derived_cast(weight, x.scalar_type());
  Tensor grad_x, grad_weight;
  if (with_gradients) {
    grad_x = at::empty(x.sizes(), x.options());
    grad_weight = at::empty(weight.sizes(), weight.options());
  }
  const Tensor loss = at::zeros({}, x.options().dtype(torch::kFloat64));
  for_each_chunk(x, weight, targets, [&](int64_t row, const Tensor& x_rows, const Tensor& target_rows) {
    Tensor logits = x_rows.mm(narrow.t()).to(type);
    const Tensor log_shares = at::_log_softmax(logits, 1, /*half_to_float=*/false), index = target_rows.unsqueeze(1);
    loss.sub_(log_shares.gather(1, index).sum(torch::kFloat64));
    if (!with_gradients) return;
    at::exp_out(logits, log_shares);
    logits.scatter_add_(1, index, at::full({index.size(0), 1}, -1.0, logits.options()));
    const Tensor grad_logits = logits.mul_(share).to(x.scalar_type());
    Tensor grad_rows = grad_x.narrow(0, row, x_rows.size(0));
    at::mm_out(grad_rows, grad_logits, narrow);
    const Tensor part = grad_logits.t().mm(x_rows);
    row > 0 ? grad_weight.add_(part) : grad_weight.copy_(part);
  });
  return {.outputs = {(loss * share).to(type)}, .saved = {grad_x, grad_weight}};
}

// The gradients were made in the forward pass, for a gradient of one: what backward() of the loss itself starts from.
TensorList cross_entropy_backward(const BackwardCall& call) {
  const Tensor& g = call.grads[0];
  if (!prefers_few_launches(g) && g.item<double>() == 1) return {call.saved[0], call.saved[1]};
  return {call.saved[0] * g.to(call.saved[0].scalar_type()), call.saved[1] * g.to(call.saved[1].scalar_type())};
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x_in, const Tensor& weight_in, const Tensor& targets) {
  check_cross_entropy(x_in, weight_in, targets);
  const bool few_launches = prefers_few_launches(x_in);
  const Tensor x = autocast_input(x_in), weight = few_launches ? weight_in : autocast_weight(weight_in, x_in);
  const bool with_gradients = needs_gradient({x, weight});
  const auto run = [&] {
    const double product = 2.0 * static_cast<double>(x.numel()) * static_cast<double>(weight.size(0));
    count_flops(with_gradients ? 3 * product : product);
    return few_launches ? few_launch_forward(x, weight, targets, with_gradients)
                        : cross_entropy_forward(x, weight, targets, with_gradients);
  };
  return with_gradient(kLinearCrossEntropy, {x, weight}, run, cross_entropy_backward).front();
}

Tensor linear_token_losses(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  check_cross_entropy(x, weight, targets);
  const at::NoGradGuard no_grad;
  std::vector<Tensor> losses;
  for_each_chunk(x, weight, targets, [&](int64_t, const Tensor& x_rows, const Tensor& target_rows) {
    losses.push_back(losses_of(x_rows.mm(weight.t()).to(logit_type(x)), target_rows, /*share=*/0).to(logit_type(x)));
  });
  return at::cat(losses);
}

}  // namespace crope::ops
