#include "crope/infer/linear_map.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace crope::infer {
namespace {

using ops::cpu::WeightRows;
using ops::cpu::WeightType;
using torch::Tensor;

// bf16 weights are widened this many at a time where a product of many rows wants them in fp32.
constexpr std::int64_t kPanelWeights = std::int64_t{1} << 20;

WeightRows rows_of(const Tensor& weight) {
  const bool narrow = weight.scalar_type() == at::kBFloat16;
  return {weight.const_data_ptr(), narrow ? WeightType::bf16 : WeightType::fp32, weight.size(0), weight.size(1)};
}

void multiply_dense(const Tensor& weight, const Tensor& x, Tensor y, Output output) {
  if (output == Output::add) {
    y.addmm_(x, weight.t());
  } else {
    at::mm_out(y, x, weight.t());
  }
}

// Three real products of half the width (docs/mathematics.md, section 2). `sum` is x_re + x_im.
void multiply_pair(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& sum, Tensor y_re, Tensor y_im,
                   Output output) {
  const std::int64_t N = a.size(1);
  if (output == Output::add) {
    const Tensor shared = sum.mm(a.t());
    y_re.add_(shared);
    y_im.add_(shared);
  } else {
    at::mm_out(y_re, sum, a.t());
    y_im.copy_(y_re);
  }
  y_re.addmm_(x.narrow(1, N, N), (b - a).t());
  y_im.addmm_(x.narrow(1, 0, N), (a + b).t(), 1, -1);
}

}  // namespace

LinearMap linear_map(const Tensor& weight) {
  return {weight.detach().contiguous(), {}};
}

LinearMap linear_map(const model::Projection& projection) {
  if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) {
    return {pair->a.detach().contiguous(), pair->b.detach().contiguous()};
  }
  return linear_map(std::get<model::DenseWeight>(projection).weight);
}

void multiply_units(const LinearMap& map, const InputRows& x, std::int64_t begin, std::int64_t end, OutputRows y,
                    Output output) {
  if (map.is_pair()) {
    ops::cpu::skinny_complex_product(x, rows_of(map.weight), rows_of(map.b), begin, end, y, output);
  } else {
    ops::cpu::skinny_product(x, rows_of(map.weight), begin, end, y, output);
  }
}

void multiply_rows(const LinearMap& map, const Tensor& x, const Tensor& y, Output output) {
  const std::int64_t units = map.units();
  const bool narrow = map.weight.scalar_type() == at::kBFloat16;
  const std::int64_t panel = narrow ? std::max<std::int64_t>(1, kPanelWeights / map.weight.size(1)) : units;
  Tensor sum;
  if (map.is_pair()) sum = x.narrow(1, 0, map.weight.size(1)) + x.narrow(1, map.weight.size(1), map.weight.size(1));
  for (std::int64_t first = 0; first < units; first += panel) {
    const std::int64_t count = std::min(panel, units - first);
    const Tensor weight = map.weight.narrow(0, first, count).to(at::kFloat);
    if (map.is_pair()) {
      multiply_pair(weight, map.b.narrow(0, first, count).to(at::kFloat), x, sum, y.narrow(1, first, count),
                    y.narrow(1, units + first, count), output);
    } else {
      multiply_dense(weight, x, y.narrow(1, first, count), output);
    }
  }
}

}  // namespace crope::infer
