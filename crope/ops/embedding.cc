#include "crope/ops/embedding.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "crope/base/rounding.h"
#include "crope/ops/check.h"
#include "crope/ops/cpu/optimizer_update.h"
#include "crope/ops/fused.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// grad[V, D] += rows[R, D] at the ids. Threads share out the columns: the order of additions is that of the rows.
void add_rows(const Tensor& grad, const Tensor& rows, const Tensor& ids) {
  if (!grad.is_contiguous() || !fused_for({grad, rows})) {
    Tensor(grad).index_add_(0, ids, rows.to(grad.scalar_type()));
    return;
  }
  const Tensor source = rows.contiguous(), list = ids.contiguous();
  const int64_t R = source.size(0), D = source.size(1);
  float* to = grad.data_ptr<float>();
  const float* from = source.const_data_ptr<float>();
  const int64_t* id = list.const_data_ptr<int64_t>();
  constexpr int64_t kColumns = 64;
  at::parallel_for(0, divide_up(D, kColumns), 4, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kColumns, width = std::min(end * kColumns, D) - first;
    for (int64_t row = 0; row < R; ++row) {
      float* sum = to + id[row] * D + first;
      cpu::add_into(sum, sum, from + row * D + first, 1, width);
    }
  });
}

TensorList embedding_backward(BackwardCall call, at::IntArrayRef shape) {
  const Tensor &ids = call.saved[0], &rows_grad = call.grads[0];
  Tensor grad = std::move(call.grads[1]);
  if (!grad.defined()) {
    grad = at::zeros(shape, rows_grad.options());
  } else if (rows_grad.defined() && (grad.use_count() > 1 || grad.storage().use_count() > 1)) {
    grad = grad.clone();  // someone else still looks at it
  }
  if (rows_grad.defined()) add_rows(grad, rows_grad.reshape({-1, shape[1]}), ids);
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
