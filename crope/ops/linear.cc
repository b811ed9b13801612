#include "crope/ops/linear.h"

#include <ATen/ATen.h>

#include "crope/ops/autocast.h"
#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"
#include "crope/ops/products.h"
#include "crope/ops/profile.h"
#include "crope/ops/slices.h"
#include "crope/ops/wide_linear.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Of the product of x[R, N] with all weights.
double linear_flops(const Tensor& x, int64_t width) {
  return 2.0 * static_cast<double>(x.numel()) * static_cast<double>(width);
}

// inputs: x[R, N], then the weights.
ForwardResult linear_forward(const TensorList& inputs) {
  const Tensor& x = inputs[0];
  int64_t width = 0;
  for (size_t i = 1; i < inputs.size(); ++i) width += inputs[i].size(0);
  count_flops(linear_flops(x, width));
  const Tensor wide = at::empty({x.size(0), width}, x.options());
  TensorList outputs;
  std::vector<Product> products;
  int64_t column = 0;
  for (size_t i = 1; i < inputs.size(); ++i) {
    outputs.push_back(wide.narrow(1, column, inputs[i].size(0)));
    column += inputs[i].size(0);
    products.push_back({{{x}}, {{inputs[i].t()}}, {{outputs.back()}}});
  }
  multiply(products);
  return {.outputs = std::move(outputs), .saved = inputs};
}

Tensor linear_input_gradient(const BackwardCall& call) {
  const Tensor& x = call.saved[0];
  Tensor grad;
  std::vector<Product> products;
  for (size_t i = 0; i < call.grads.size(); ++i) {
    if (!call.grads[i].defined()) continue;
    const Tensor& weight = call.saved[i + 1];
    count_flops(linear_flops(x, weight.size(0)));
    const bool add = grad.defined();
    if (!add) grad = at::empty(x.sizes(), x.options());
    products.push_back({{{call.grads[i]}}, {{weight}}, {{grad, 1, add}}});
  }
  multiply(products);
  return grad;
}

// grad' x from grad[R, M] and x[R, N].
Tensor weight_gradient(const Tensor& grad, const Tensor& x) {
  const Tensor result = at::empty({grad.size(1), x.size(1)}, x.options());
  multiply(result, grad.t(), x);
  return result;
}

TensorList linear_backward(const BackwardCall& call) {
  const Tensor& x = call.saved[0];
  TensorList results(call.saved.size());
  if (call.needed[0]) results[0] = linear_input_gradient(call);
  bool all = true;
  for (size_t i = 0; i < call.grads.size(); ++i) all = all && call.grads[i].defined() && call.needed[i + 1];
  const auto wide = all ? joined_columns(call.grads) : std::nullopt;
  const Tensor wide_grad = wide ? weight_gradient(*wide, x) : Tensor();
  int64_t row = 0;
  for (size_t i = 0; i < call.grads.size(); ++i) {
    const int64_t rows = call.saved[i + 1].size(0);
    if (call.grads[i].defined() && call.needed[i + 1]) count_flops(linear_flops(x, rows));
    if (wide) {
      results[i + 1] = wide_grad.narrow(0, row, rows);
    } else if (call.grads[i].defined() && call.needed[i + 1]) {
      results[i + 1] = weight_gradient(call.grads[i], x);
    }
    row += rows;
  }
  return results;
}

}  // namespace

std::vector<Tensor> linear(const Tensor& x, std::span<const Tensor> weights) {
  for (const Tensor& weight : weights) {
    check_shape(weight.dim() == 2 && x.dim() >= 1 && weight.size(1) == x.size(-1), "linear", "weight",
                "[M, N] with N the last dimension of x", weight);
  }
  if (prefers_few_launches(x)) {
    std::vector<TensorList> layers;
    for (const Tensor& weight : weights) layers.push_back({weight});
    return wide_linear("linear", x, layers);
  }
  TensorList inputs{as_rows(autocast_input(x))};
  for (const Tensor& weight : weights) inputs.push_back(autocast_weight(weight, x));
  std::vector<Tensor> outputs = with_gradient(
      "linear", inputs, [&] { return linear_forward(inputs); }, linear_backward);
  std::vector<int64_t> shape = x.sizes().vec();
  for (Tensor& y : outputs) {
    shape.back() = y.size(1);
    y = y.view(shape);
  }
  return outputs;
}

Tensor linear(const Tensor& x, const Tensor& weight) {
  return linear(x, std::span(&weight, 1)).front();
}

}  // namespace crope::ops
