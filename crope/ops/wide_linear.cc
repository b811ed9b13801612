#include "crope/ops/wide_linear.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

#include "crope/ops/autocast.h"
#include "crope/ops/derived_weights.h"
#include "crope/ops/gradient.h"
#include "crope/ops/products.h"
#include "crope/ops/profile.h"
#include "crope/ops/slices.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Neighbouring layers of one kind and one height, in the wide matrix.
struct Group {
  std::size_t first_input;  // among the inputs: x, then the tensors of the layers
  std::int64_t layers, height, row;
  bool is_pair;

  std::int64_t rows() const { return layers * height; }
  // The inputs of layer i: its W, or its a and, one further, its b.
  std::size_t input(std::int64_t i) const { return first_input + static_cast<std::size_t>(is_pair ? 2 * i : i); }
};

std::vector<Group> grouped(const std::vector<TensorList>& layers) {
  std::vector<Group> groups;
  std::size_t input = 1;
  std::int64_t row = 0;
  for (const TensorList& layer : layers) {
    const bool is_pair = layer.size() == 2;
    const std::int64_t height = layer[0].size(0) * (is_pair ? 2 : 1);
    if (!groups.empty() && groups.back().is_pair == is_pair && groups.back().height == height) {
      ++groups.back().layers;
    } else {
      groups.push_back({input, 1, height, row, is_pair});
    }
    input += layer.size();
    row += height;
  }
  return groups;
}

// The group's rows of a wide matrix [W, N] as [layers, 2, M, 2, N/2]: blocks (0, 0) and (1, 1) belong to a, (0, 1) and
// (1, 0) to b.
struct Blocks {
  Tensor re_re, re_im, im_re, im_im;  // [layers, M, N/2]
};

Blocks blocks_of(const Tensor& wide, const Group& group) {
  const Tensor five =
      wide.narrow(0, group.row, group.rows()).view({group.layers, 2, group.height / 2, 2, wide.size(1) / 2});
  const auto block = [&](std::int64_t row, std::int64_t column) { return five.select(3, column).select(1, row); };
  return {block(0, 0), block(0, 1), block(1, 0), block(1, 1)};
}

Tensor make_wide(const TensorList& inputs, const std::vector<Group>& groups, torch::ScalarType type) {
  const std::int64_t rows = groups.back().row + groups.back().rows();
  const Tensor wide = at::empty({rows, inputs[0].size(1)}, inputs[1].options().dtype(type).requires_grad(false));
  for (const Group& group : groups) {
    if (!group.is_pair) {
      for (std::int64_t i = 0; i < group.layers; ++i) {
        wide.narrow(0, group.row + i * group.height, group.height).copy_(inputs[group.input(i)]);
      }
      continue;
    }
    const Blocks blocks = blocks_of(wide, group);
    for (std::int64_t i = 0; i < group.layers; ++i) {
      blocks.re_re[i].copy_(inputs[group.input(i)]);
      blocks.re_im[i].copy_(inputs[group.input(i) + 1]);
    }
    blocks.im_im.copy_(blocks.re_re);
    Tensor minus_b = blocks.im_re;
    at::neg_out(minus_b, blocks.re_im);
  }
  return wide;
}

Tensor product(const Tensor& left, const Tensor& right) {
  const Tensor result = at::empty({left.size(0), right.size(1)}, left.options());
  multiply(result, left, right);
  return result;
}

ForwardResult wide_forward(const TensorList& inputs, const std::vector<Group>& groups, torch::ScalarType type) {
  const TensorList weights(inputs.begin() + 1, inputs.end());
  const bool is_itself = weights.size() == 1 && weights[0].scalar_type() == type;
  const Tensor wide = is_itself
                          ? weights[0].detach()
                          : derived_weight("wide", weights, type, [&] { return make_wide(inputs, groups, type); });
  count_flops(2.0 * static_cast<double>(inputs[0].numel()) * static_cast<double>(wide.size(0)));
  const Tensor y = product(inputs[0], wide.t());
  ForwardResult result{.outputs = {}, .saved = {inputs[0], wide}};
  for (const Group& group : groups) {
    for (std::int64_t i = 0; i < group.layers; ++i) {
      result.outputs.push_back(y.narrow(1, group.row + i * group.height, group.height));
    }
  }
  return result;
}

// The gradients of a group's weights from that of the wide matrix.
void contract_group(const Tensor& whole, const Group& group, TensorList& results) {
  if (!group.is_pair) {
    for (std::int64_t i = 0; i < group.layers; ++i) {
      results[group.input(i)] = whole.narrow(0, group.row + i * group.height, group.height);
    }
    return;
  }
  const Blocks blocks = blocks_of(whole, group);
  const Tensor a = blocks.re_re + blocks.im_im, b = blocks.re_im - blocks.im_re;
  for (std::int64_t i = 0; i < group.layers; ++i) {
    results[group.input(i)] = a[i];
    results[group.input(i) + 1] = b[i];
  }
}

TensorList wide_backward(const BackwardCall& call, const std::vector<Group>& groups, torch::ScalarType weight_type) {
  const Tensor &x = call.saved[0], &wide = call.saved[1];
  TensorList results(call.needed.size()), grads = call.grads;
  std::size_t layer = 0;
  for (const Group& group : groups) {
    for (std::int64_t i = 0; i < group.layers; ++i, ++layer) {
      if (!grads[layer].defined()) grads[layer] = at::zeros({x.size(0), group.height}, x.options());
    }
  }
  const auto joined = joined_columns(grads);
  const Tensor g = joined ? *joined : at::cat(grads, 1);
  const double flops = 2.0 * static_cast<double>(x.numel()) * static_cast<double>(wide.size(0));
  if (call.needed[0]) {
    count_flops(flops);
    results[0] = product(g, wide);
  }
  if (std::none_of(call.needed.begin() + 1, call.needed.end(), [](bool needed) { return needed; })) return results;
  count_flops(flops);
  const Tensor whole = product(g.t(), x).to(weight_type);
  for (const Group& group : groups) contract_group(whole, group, results);
  layer = 0;
  for (const Group& group : groups) {
    for (std::int64_t i = 0; i < group.layers; ++i, ++layer) {
      for (std::size_t input = group.input(i); input < group.input(i) + (group.is_pair ? 2 : 1); ++input) {
        if (!call.grads[layer].defined() || !call.needed[input]) results[input] = Tensor();
      }
    }
  }
  return results;
}

}  // namespace

std::vector<Tensor> wide_linear(const char* name, const Tensor& x, const std::vector<TensorList>& layers) {
  TensorList inputs{as_rows(autocast_input(x))};
  for (const TensorList& layer : layers) inputs.insert(inputs.end(), layer.begin(), layer.end());
  // Without autocast types that differ are the caller's mistake, which the product reports.
  const torch::ScalarType weight_type = layers.front()[0].scalar_type();
  const torch::ScalarType type = is_cast_by_autocast(layers.front()[0], x) ? inputs[0].scalar_type() : weight_type;
  const std::vector<Group> groups = grouped(layers);
  std::vector<Tensor> outputs = with_gradient(
      name, inputs, [&] { return wide_forward(inputs, groups, type); },
      [groups, weight_type](const BackwardCall& call) { return wide_backward(call, groups, weight_type); });
  std::vector<std::int64_t> shape = x.sizes().vec();
  for (Tensor& y : outputs) {
    shape.back() = y.size(1);
    y = y.view(shape);
  }
  return outputs;
}

}  // namespace crope::ops
