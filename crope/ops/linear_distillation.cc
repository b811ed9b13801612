#include "crope/ops/linear_distillation.h"

#include <ATen/ATen.h>

#include "crope/ops/autocast.h"
#include "crope/ops/check.h"
#include "crope/ops/gradient.h"
#include "crope/ops/logit_chunks.h"
#include "crope/ops/profile.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kLinearDistillation = "linear_distillation";

// About six matrices of this many numbers live at a time.
constexpr int64_t kDistilledLogits = int64_t{1} << 23;

// p[R, V] from the teacher's logits[R, V].
Tensor taught_probabilities(const Tensor& logits, const DistillationOptions& options) {
  const Tensor scaled = logits / options.temperature;
  if (options.top_k == 0 || options.top_k >= scaled.size(1)) return at::softmax(scaled, -1);
  const auto [values, ids] = at::topk(scaled, options.top_k, -1);
  return at::zeros_like(scaled).scatter_(1, ids, at::softmax(values, -1));
}

struct RowLosses {
  Tensor sum;          // of the rows' losses, fp64
  Tensor grad_logits;  // of that sum
};

RowLosses distilled_rows(const Tensor& logits, const Tensor& targets, const Tensor& taught,
                         const DistillationOptions& options) {
  const double w = options.weight, t = options.temperature;
  const Tensor log_p = at::log_softmax(logits, -1);
  const Tensor log_q = t == 1 ? log_p : at::log_softmax(logits / t, -1);
  const Tensor rows = targets.unsqueeze(1);
  const Tensor cross_entropy = log_p.gather(1, rows).neg().sum(torch::kFloat64);
  // 0 log 0 = 0, for the tokens that top_k drops.
  const Tensor divergence = (at::xlogy(taught, taught) - taught * log_q).sum(-1).sum(torch::kFloat64);
  Tensor grad = log_p.exp().scatter_add_(1, rows, at::full_like(rows, -1, logits.options())).mul_(1 - w);
  grad.add_(log_q.exp() - taught, w * t);
  return {cross_entropy * (1 - w) + divergence * (w * t * t), grad};
}

ForwardResult distillation_forward(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                   const TaughtRows& teacher, const DistillationOptions& options) {
  const int64_t R = x.size(0), V = weight.size(0);
  const auto type = logit_type(x);
  const double share = 1.0 / static_cast<double>(R);
  const Tensor grad_x = at::empty(x.sizes(), x.options());
  const Tensor grad_weight = at::zeros(weight.sizes(), weight.options().dtype(type));
  const Tensor loss = at::zeros({}, x.options().dtype(torch::kFloat64));
  for_each_logit_chunk(R, V, kDistilledLogits, [&](int64_t row, int64_t count) {
    const Tensor x_rows = x.narrow(0, row, count);
    const Tensor logits = x_rows.mm(weight.t()).to(type);
    const Tensor taught =
        taught_probabilities(teacher.x.narrow(0, row, count).mm(teacher.weight.t()).to(type), options);
    const RowLosses result = distilled_rows(logits, targets.narrow(0, row, count), taught, options);
    loss.add_(result.sum);
    const Tensor grad_logits = (result.grad_logits * share).to(x.scalar_type());
    grad_x.narrow(0, row, count).copy_(grad_logits.mm(weight));
    grad_weight.add_(grad_logits.t().mm(x_rows));
  });
  return {.outputs = {(loss * share).to(type)}, .saved = {grad_x, grad_weight.to(weight.scalar_type())}};
}

// The gradients were made in the forward pass, for a gradient of one.
TensorList distillation_backward(const BackwardCall& call) {
  const Tensor& g = call.grads[0];
  return {call.saved[0] * g.to(call.saved[0].scalar_type()), call.saved[1] * g.to(call.saved[1].scalar_type())};
}

void check_distillation(const Tensor& x, const Tensor& weight, const Tensor& targets, const TaughtRows& teacher) {
  check_shape(weight.dim() == 2, kLinearDistillation, "weight", "[V, D]", weight);
  check_shape(x.dim() == 2 && x.size(0) > 0 && x.size(1) == weight.size(1), kLinearDistillation, "x",
              "[R, D] with R > 0", x);
  check_shape(targets.dim() == 1 && targets.size(0) == x.size(0), kLinearDistillation, "targets", "[R]", targets);
  check_shape(teacher.weight.dim() == 2 && teacher.weight.size(0) == weight.size(0), kLinearDistillation,
              "teacher.weight", "[V, E]", teacher.weight);
  check_shape(teacher.x.dim() == 2 && teacher.x.size(0) == x.size(0) && teacher.x.size(1) == teacher.weight.size(1),
              kLinearDistillation, "teacher.x", "[R, E]", teacher.x);
}

}  // namespace

Tensor linear_distillation(const Tensor& x_in, const Tensor& weight_in, const Tensor& targets,
                           const TaughtRows& teacher_in, const DistillationOptions& options) {
  check_distillation(x_in, weight_in, targets, teacher_in);
  const Tensor x = autocast_input(x_in), weight = autocast_weight(weight_in, x_in);
  const TaughtRows teacher{autocast_input(teacher_in.x).detach(),
                           autocast_weight(teacher_in.weight, teacher_in.x).detach()};
  const auto run = [&] {
    const double row = 2.0 * static_cast<double>(x.size(0)) * static_cast<double>(weight.size(0));
    count_flops(row * static_cast<double>(3 * x.size(1) + teacher.x.size(1)));
    return distillation_forward(x, weight, targets, teacher, options);
  };
  return with_gradient(kLinearDistillation, {x, weight}, run, distillation_backward).front();
}

}  // namespace crope::ops
