#include "crope/ops/embedding.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// grad[V, D] += rows[R, D] at the ids.
void add_at_ids(Tensor grad, const Tensor& rows, const Tensor& ids) {
  const auto kernel = kernels_for({grad, rows}).add_rows;
  if (!grad.is_contiguous() || kernel == nullptr) {
    grad.index_add_(0, ids, rows.to(grad.scalar_type()));
    return;
  }
  const Tensor source = rows.contiguous(), list = ids.contiguous();
  kernel({.sum = mutable_view(grad), .rows = view(source), .ids = id_view(list)});
}

TensorList embedding_backward(BackwardCall call, at::IntArrayRef shape) {
  const Tensor &ids = call.saved[0], &rows_grad = call.grads[0];
  Tensor grad = std::move(call.grads[1]);
  if (!grad.defined()) {
    grad = at::zeros(shape, rows_grad.options());
  } else if (rows_grad.defined() && (grad.use_count() > 1 || grad.storage().use_count() > 1)) {
    grad = grad.clone();  // someone else still looks at it
  }
  if (rows_grad.defined()) add_at_ids(grad, rows_grad.reshape({-1, shape[1]}), ids);
  return {grad};
}

}  // namespace

TiedEmbedding tied_embedding(const Tensor& weight, const Tensor& ids) {
  check_shape(weight.dim() == 2, "tied_embedding", "weight", "[V, D]", weight);
  const Tensor list = ids.reshape({-1}).to(torch::kInt64);
  std::vector<int64_t> shape = ids.sizes().vec();
  shape.push_back(weight.size(1));
  const auto forward = [&] {
    return ForwardResult{.outputs = {weight.index_select(0, list).view(shape), weight.detach()}, .saved = {list}};
  };
  TensorList outputs = with_gradient(
      "embedding", {weight}, forward,
      [sizes = weight.sizes().vec()](const BackwardCall& call) { return embedding_backward(call, sizes); });
  return {outputs[0], outputs[1]};
}

}  // namespace crope::ops
