#include "crope/ops/block_linear.h"

#include <ATen/ATen.h>

#include "crope/ops/autocast.h"
#include "crope/ops/check.h"
#include "crope/ops/cpu/halves.h"
#include "crope/ops/fused.h"
#include "crope/ops/gradient.h"
#include "crope/ops/profile.h"
#include "crope/ops/slices.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kBlockLinear = "block_linear";

// Views of the real and the imaginary half of the last dimension.
struct Halves {
  Tensor re, im;
};
Halves halves_of(const Tensor& x) {
  const int64_t N = x.size(-1) / 2;
  return {x.narrow(-1, 0, N), x.narrow(-1, N, N)};
}

// The sum of the halves of x[R, 2N], and their difference where it is asked for: one pass over x.
struct SumAndDifference {
  Tensor sum, difference;
};
enum class Want { sum, both };
SumAndDifference sum_of_halves(const Tensor& re, const Tensor& im, Want want) {
  if (re.dim() != 2 || re.stride(1) != 1 || im.stride(1) != 1 || !fused_for({re, im})) {
    return {re + im, want == Want::both ? re - im : Tensor()};
  }
  const int64_t R = re.size(0), N = re.size(1);
  Tensor sum = at::empty({R, N}, re.options());
  Tensor difference = want == Want::both ? at::empty({R, N}, re.options()) : Tensor();
  const cpu::HalvesSum call{.N = N,
                            .re = re.const_data_ptr<float>(),
                            .re_stride = re.stride(0),
                            .im = im.const_data_ptr<float>(),
                            .im_stride = im.stride(0),
                            .sum = sum.data_ptr<float>(),
                            .difference = difference.defined() ? difference.data_ptr<float>() : nullptr};
  parallel_rows(R, 4 * N, [&](int64_t begin, int64_t end) { cpu::sum_halves(call, begin, end); });
  return {sum, difference};
}

// Each layer costs three real products of half the width instead of four (Gauss). With e, o for re, im:
//   forward   y_e = a(x_e + x_o) - (a - b) x_o          y_o = a(x_e + x_o) - (a + b) x_e
//   backward  gx_e = a'(g_e + g_o) - (a + b)' g_o       gx_o = a'(g_e + g_o) - (a - b)' g_e
//             ga = g_e'(x_e + x_o) - (g_e - g_o)' x_o   gb = g_e'(x_e + x_o) - (g_e + g_o)' x_e
// Halves are strided views, so the products read and write them in place.

// Of three products of x[R, 2N]'s halves with a layer's a[M, N].
double block_linear_flops(const Tensor& x, const Tensor& a) {
  return 3.0 * static_cast<double>(x.numel()) * static_cast<double>(a.size(0));
}

// inputs: x[R, 2N], then a[M, N], b[M, N] of each layer. Makes y[R, 2M] of each layer, columns of one matrix.
ForwardResult block_linear_forward(const TensorList& inputs) {
  const Tensor& x = inputs[0];
  const Halves in = halves_of(x);
  const Tensor sum = sum_of_halves(in.re, in.im, Want::sum).sum;
  int64_t width = 0;
  for (size_t i = 1; i < inputs.size(); i += 2) width += 2 * inputs[i].size(0);
  const Tensor wide = at::empty({x.size(0), width}, x.options());
  TensorList outputs;
  int64_t column = 0;
  for (size_t i = 1; i < inputs.size(); i += 2) {
    const Tensor &a = inputs[i], &b = inputs[i + 1];
    count_flops(block_linear_flops(x, a));
    Tensor y = wide.narrow(1, column, 2 * a.size(0));
    column += 2 * a.size(0);
    Halves out = halves_of(y);
    const SumAndDifference weights = sum_of_halves(a, b, Want::both);
    at::mm_out(out.re, sum, a.t());
    out.im.copy_(out.re);
    out.re.addmm_(in.im, weights.difference.t(), 1, -1);
    out.im.addmm_(in.re, weights.sum.t(), 1, -1);
    outputs.push_back(std::move(y));
  }
  return {.outputs = std::move(outputs), .saved = inputs};
}

// What the gradient of one layer's output is needed as.
struct LayerGradient {
  size_t layer;  // index of its a in the inputs
  Halves g;
  Tensor sum, difference;
};

// What all layers have in common, a'(g_e + g_o), is added up in one half and copied to the other once.
Tensor block_linear_input_gradient(const BackwardCall& call, const std::vector<LayerGradient>& layers) {
  const Tensor& x = call.saved[0];
  Tensor grad = at::empty(x.sizes(), x.options());
  Halves out = halves_of(grad);
  for (const LayerGradient& layer : layers) {
    const Tensor& a = call.saved[layer.layer];
    count_flops(block_linear_flops(x, a));
    if (&layer == &layers.front()) {
      at::mm_out(out.re, layer.sum, a);
    } else {
      out.re.addmm_(layer.sum, a);
    }
  }
  out.im.copy_(out.re);
  for (const LayerGradient& layer : layers) {
    const SumAndDifference weights = sum_of_halves(call.saved[layer.layer], call.saved[layer.layer + 1], Want::both);
    out.re.addmm_(layer.g.im, weights.sum, 1, -1);
    out.im.addmm_(layer.g.re, weights.difference, 1, -1);
  }
  return grad;
}

TensorList block_linear_backward(const BackwardCall& call) {
  const Tensor& x = call.saved[0];
  const Halves in = halves_of(x);
  TensorList results(call.saved.size());
  std::vector<LayerGradient> layers;
  bool weights_needed = false;
  for (size_t i = 1; i < call.saved.size(); i += 2) {
    const Tensor& grad = call.grads[(i - 1) / 2];
    if (!grad.defined()) continue;
    const Halves g = halves_of(grad);
    SumAndDifference sums = sum_of_halves(g.re, g.im, call.needed[i] ? Want::both : Want::sum);
    layers.push_back({i, g, std::move(sums.sum), std::move(sums.difference)});
    weights_needed = weights_needed || call.needed[i] || call.needed[i + 1];
  }
  if (layers.empty()) return results;
  if (call.needed[0]) results[0] = block_linear_input_gradient(call, layers);
  if (!weights_needed) return results;
  const Tensor sum = sum_of_halves(in.re, in.im, Want::sum).sum;
  for (const LayerGradient& layer : layers) {
    const size_t i = layer.layer;
    if (!call.needed[i] && !call.needed[i + 1]) continue;
    count_flops(block_linear_flops(x, call.saved[i]));
    Tensor grad_a = layer.g.re.t().mm(sum);
    if (call.needed[i + 1]) results[i + 1] = at::addmm(grad_a, layer.sum.t(), in.re, 1, -1);
    if (call.needed[i]) results[i] = grad_a.addmm_(layer.difference.t(), in.im, 1, -1);
  }
  return results;
}

}  // namespace

std::vector<Tensor> block_linear(const Tensor& x, std::span<const ComplexWeight> weights) {
  check_shape(x.dim() >= 1 && x.size(-1) % 2 == 0, kBlockLinear, "x", "an even last dimension", x);
  const int64_t N = x.size(-1) / 2;
  TensorList inputs{as_rows(autocast_input(x))};
  for (const ComplexWeight& weight : weights) {
    check_shape(weight.a.dim() == 2 && weight.a.size(1) == N, kBlockLinear, "a",
                "[M, N] with 2N the last dimension of x", weight.a);
    check_shape(weight.b.sizes() == weight.a.sizes(), kBlockLinear, "b", "the shape of a", weight.b);
    inputs.push_back(autocast_weight(weight.a, x));
    inputs.push_back(autocast_weight(weight.b, x));
  }
  std::vector<Tensor> outputs = with_gradient(
      kBlockLinear, inputs, [&] { return block_linear_forward(inputs); }, block_linear_backward);
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
