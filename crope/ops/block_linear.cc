#include "crope/ops/block_linear.h"

#include <ATen/ATen.h>

#include <algorithm>

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

constexpr const char* kBlockLinear = "block_linear";

// With e, o for re, im, and ' for transposed:
//   forward   y_e = a(x_e + x_o) - (a - b) x_o          y_o = a(x_e + x_o) - (a + b) x_e
//   backward  gx_e = a'(g_e + g_o) - (a + b)' g_o       gx_o = a'(g_e + g_o) - (a - b)' g_e
//             ga = g_e'(x_e + x_o) - (g_e - g_o)' x_o   gb = g_e'(x_e + x_o) - (g_e + g_o)' x_e
// Layers of one input share what is the same in their first products, in their second ones and in their third ones:
// those are neighbours in the lists.

// Of three products of x[R, 2N]'s halves with a layer's a[M, N].
double block_linear_flops(const Tensor& x, const Tensor& a) {
  return 3.0 * static_cast<double>(x.numel()) * static_cast<double>(a.size(0));
}

// inputs: x[R, 2N], then a[M, N], b[M, N] of each layer. Makes y[R, 2M] of each layer, columns of one matrix.
ForwardResult block_linear_forward(const TensorList& inputs) {
  const Tensor& x = inputs[0];
  const Halves in = halves_of(x);
  int64_t width = 0;
  for (size_t i = 1; i < inputs.size(); i += 2) width += 2 * inputs[i].size(0);
  const Tensor wide = at::empty({x.size(0), width}, x.options());
  TensorList outputs;
  const size_t layers = inputs.size() / 2;
  std::vector<Product> products(3 * layers);
  int64_t column = 0;
  for (size_t i = 0; i < layers; ++i) {
    const Tensor a = inputs[2 * i + 1].t(), b = inputs[2 * i + 2].t();
    count_flops(block_linear_flops(x, inputs[2 * i + 1]));
    outputs.push_back(wide.narrow(1, column, 2 * a.size(1)));
    column += 2 * a.size(1);
    auto three = complex_products(in, a, b, ComplexFactor::a_minus_ib, halves_of(outputs.back()), /*add=*/false);
    for (size_t n = 0; n < three.size(); ++n) products[n * layers + i] = std::move(three[n]);
  }
  multiply(products);
  return {.outputs = std::move(outputs), .saved = inputs};
}

// Of a layer whose output has a gradient: the index of its a in the inputs, and that gradient.
struct LayerGradient {
  size_t layer;
  Halves g;
};

Tensor block_linear_input_gradient(const BackwardCall& call, const std::vector<LayerGradient>& layers) {
  const Tensor& x = call.saved[0];
  const Tensor grad = at::empty(x.sizes(), x.options());
  const Halves out = halves_of(grad);
  std::vector<Product> products;
  for (const auto& [layer, g] : layers) {
    const Tensor &a = call.saved[layer], &b = call.saved[layer + 1];
    const bool add = !products.empty();  // to what the layers before have given
    count_flops(block_linear_flops(x, a));
    for (Product& product : complex_products(g, a, b, ComplexFactor::a_plus_ib, out, add)) {
      products.push_back(std::move(product));
    }
  }
  multiply(products);
  return grad;
}

TensorList block_linear_backward(const BackwardCall& call) {
  const Tensor& x = call.saved[0];
  const Halves in = halves_of(x);
  TensorList results(call.saved.size());
  std::vector<LayerGradient> layers;
  for (size_t i = 1; i < call.saved.size(); i += 2) {
    const Tensor& grad = call.grads[(i - 1) / 2];
    if (grad.defined()) layers.push_back({i, halves_of(grad)});
  }
  if (layers.empty()) return results;
  if (call.needed[0]) results[0] = block_linear_input_gradient(call, layers);
  std::erase_if(layers,
                [&](const LayerGradient& one) { return !call.needed[one.layer] && !call.needed[one.layer + 1]; });
  std::vector<Product> products(3 * layers.size());
  for (size_t n = 0; n < layers.size(); ++n) {
    const auto& [i, g] = layers[n];
    count_flops(block_linear_flops(x, call.saved[i]));
    for (const size_t part : {i, i + 1}) results[part] = at::empty(call.saved[part].sizes(), x.options());
    products[n] = {{{g.re.t()}}, {{in.re}, {in.im}}, {{results[i]}, {results[i + 1]}}};
    products[layers.size() + n] = {{{g.re.t()}, {g.im.t(), -1}}, {{in.im}}, {{results[i], -1, true}}};
    products[2 * layers.size() + n] = {{{g.re.t()}, {g.im.t()}}, {{in.re}}, {{results[i + 1], -1, true}}};
  }
  multiply(products);
  return results;
}

// Whether one product with the expanded matrices is faster than Gauss's three. On devices that take their orders one by
// one his sums are passes over memory, and round twice. On others it is so for narrow layers.
bool is_expanded(const Tensor& x, std::span<const ComplexWeight> weights) {
  if (prefers_few_launches(x)) return true;
  const auto least = kernels_for({x}).least_gauss_pairs;
  if (least == nullptr) return false;
  return std::ranges::all_of(weights, [pairs = least()](const ComplexWeight& weight) {
    return std::min(weight.a.size(0), weight.a.size(1)) < pairs;
  });
}

}  // namespace

std::vector<Tensor> block_linear(const Tensor& x, std::span<const ComplexWeight> weights) {
  check_shape(x.dim() >= 1 && x.size(-1) % 2 == 0, kBlockLinear, "x", "an even last dimension", x);
  const int64_t N = x.size(-1) / 2;
  for (const ComplexWeight& weight : weights) {
    check_shape(weight.a.dim() == 2 && weight.a.size(1) == N, kBlockLinear, "a",
                "[M, N] with 2N the last dimension of x", weight.a);
    check_shape(weight.b.sizes() == weight.a.sizes(), kBlockLinear, "b", "the shape of a", weight.b);
  }
  if (is_expanded(x, weights)) {
    std::vector<TensorList> layers;
    for (const ComplexWeight& weight : weights) layers.push_back({weight.a, weight.b});
    return wide_linear(kBlockLinear, x, layers);
  }
  TensorList inputs{as_rows(autocast_input(x))};
  for (const ComplexWeight& weight : weights) {
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

Halves halves_of(const Tensor& x) {
  const int64_t N = x.size(-1) / 2;
  return {x.narrow(-1, 0, N), x.narrow(-1, N, N)};
}

std::array<Product, 3> complex_products(const Halves& in, const Tensor& a, const Tensor& b, ComplexFactor factor,
                                        const Halves& out, bool add) {
  const float sign = factor == ComplexFactor::a_minus_ib ? 1 : -1;
  return {{{{{in.re}, {in.im}}, {{a}}, {{out.re, 1, add}, {out.im, 1, add}}},
           {{{in.im}}, {{a}, {b, -sign}}, {{out.re, -1, true}}},
           {{{in.re}}, {{a}, {b, sign}}, {{out.im, -1, true}}}}};
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
