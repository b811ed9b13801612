#include "crope/ops/block_linear.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kName = "block_linear";

// Views of the real and the imaginary half of the last dimension.
struct Halves {
  Tensor re, im;
};
Halves halves_of(const Tensor& x) {
  const int64_t N = x.size(-1) / 2;
  return {x.narrow(-1, 0, N), x.narrow(-1, N, N)};
}

// Each layer costs three real products of half the width instead of four (Gauss). With e, o for re, im:
//   forward   y_e = a(x_e + x_o) + (b - a) x_o          y_o = a(x_e + x_o) - (a + b) x_e
//   backward  gx_e = a'(g_e + g_o) - (a + b)' g_o       gx_o = a'(g_e + g_o) - (a - b)' g_e
//             ga = g_e'(x_e + x_o) - (g_e - g_o)' x_o   gb = g_e'(x_e + x_o) - (g_e + g_o)' x_e
// Halves are strided views, so the products read and write them in place.

// inputs: x[R, 2N], then a[M, N], b[M, N] of each layer. Makes y[R, 2M] of each layer.
ForwardResult forward(const TensorList& inputs) {
  const Tensor& x = inputs[0];
  const Halves in = halves_of(x);
  const Tensor sum = in.re + in.im;
  TensorList outputs;
  for (size_t i = 1; i < inputs.size(); i += 2) {
    const Tensor &a = inputs[i], &b = inputs[i + 1];
    Tensor y = at::empty({x.size(0), 2 * a.size(0)}, x.options());
    Halves out = halves_of(y);
    at::mm_out(out.re, sum, a.t());
    out.im.copy_(out.re);
    out.re.addmm_(in.im, (b - a).t());
    out.im.addmm_(in.re, (a + b).t(), 1, -1);
    outputs.push_back(std::move(y));
  }
  return {.outputs = std::move(outputs), .saved = inputs};
}

// Adds what one layer contributes to the gradient of x.
void accumulate_input_gradient(Halves& grad_x, const Halves& g, const Tensor& g_sum, const Tensor& a, const Tensor& b) {
  const Tensor shared = g_sum.mm(a);
  grad_x.re.add_(shared).addmm_(g.im, a + b, 1, -1);
  grad_x.im.add_(shared).addmm_(g.re, a - b, 1, -1);
}

TensorList backward(const BackwardCall& call) {
  const Tensor& x = call.saved[0];
  const Halves in = halves_of(x);
  TensorList results(call.saved.size());
  Halves grad_x;
  if (call.needed[0]) {
    results[0] = at::zeros_like(x);
    grad_x = halves_of(results[0]);
  }
  Tensor sum;  // x_e + x_o, made when the first weight asks for it
  for (size_t i = 1; i < call.saved.size(); i += 2) {
    const Tensor& grad = call.grads[(i - 1) / 2];
    if (!grad.defined()) continue;
    const Tensor &a = call.saved[i], &b = call.saved[i + 1];
    const Halves g = halves_of(grad);
    const Tensor g_sum = g.re + g.im;
    if (call.needed[0]) accumulate_input_gradient(grad_x, g, g_sum, a, b);
    if (!call.needed[i] && !call.needed[i + 1]) continue;
    if (!sum.defined()) sum = in.re + in.im;
    const Tensor shared = g.re.t().mm(sum);
    if (call.needed[i]) results[i] = at::addmm(shared, (g.re - g.im).t(), in.im, 1, -1);
    if (call.needed[i + 1]) results[i + 1] = at::addmm(shared, g_sum.t(), in.re, 1, -1);
  }
  return results;
}

}  // namespace

std::vector<Tensor> block_linear(const Tensor& x, std::span<const ComplexWeight> weights) {
  check_shape(x.dim() >= 1 && x.size(-1) % 2 == 0, kName, "x", "an even last dimension", x);
  const int64_t N = x.size(-1) / 2;
  TensorList inputs{x.reshape({-1, 2 * N})};
  for (const ComplexWeight& weight : weights) {
    check_shape(weight.a.dim() == 2 && weight.a.size(1) == N, kName, "a", "[M, N] with 2N the last dimension of x",
                weight.a);
    check_shape(weight.b.sizes() == weight.a.sizes(), kName, "b", "the shape of a", weight.b);
    inputs.push_back(weight.a);
    inputs.push_back(weight.b);
  }
  std::vector<Tensor> outputs = with_gradient(
      inputs, [&] { return forward(inputs); }, backward);
  std::vector<int64_t> shape = x.sizes().vec();
  for (Tensor& y : outputs) {
    shape.back() = y.size(1);
    y = y.view(shape);
  }
  return outputs;
}

Tensor block_linear(const Tensor& x, const ComplexWeight& weight) {
  return block_linear(x, std::span(&weight, 1)).front();
}

Tensor expand(const ComplexWeight& weight) {
  const Tensor &a = weight.a, &b = weight.b;
  return at::cat({at::cat({a, b}, 1), at::cat({-b, a}, 1)}, 0);
}

ComplexWeight contract(const Tensor& dense) {
  check_shape(dense.dim() == 2 && dense.size(0) % 2 == 0 && dense.size(1) % 2 == 0, "contract", "dense", "[2M, 2N]",
              dense);
  const std::vector<Tensor> rows = dense.chunk(2, 0);
  const Halves top = halves_of(rows[0]), bottom = halves_of(rows[1]);
  return {(top.re + bottom.im) / 2, (top.im - bottom.re) / 2};
}

}  // namespace crope::ops
