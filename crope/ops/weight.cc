#include "crope/ops/weight.h"

#include <ATen/ATen.h>

#include "crope/ops/linear.h"
#include "crope/ops/products.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Weights that are not fp32 are widened this many at a time where a product of many rows wants them so.
constexpr int64_t kPanelWeights = int64_t{1} << 20;

WeightMatrix view_of(const Tensor& weight) {
  const auto type = weight.scalar_type() == at::kBFloat16 ? WeightType::bf16 : WeightType::fp32;
  return {weight.const_data_ptr(), type, weight.size(0), weight.size(1)};
}

// Rows [first, first + count) in fp32.
Tensor widened(const Tensor& weight, int64_t first, int64_t count) {
  return weight.narrow(0, first, count).to(at::kFloat);
}

}  // namespace

Tensor project(const Tensor& x, const Weight& weight) {
  if (const auto* pair = std::get_if<ComplexWeight>(&weight)) return block_linear(x, *pair);
  return ops::linear(x, std::get<DenseWeight>(weight).weight);
}

std::vector<Tensor> project_all(const Tensor& x, std::span<const Weight> weights) {
  std::vector<ComplexWeight> pairs;
  std::vector<Tensor> matrices;
  for (const Weight& weight : weights) {
    if (const auto* pair = std::get_if<ComplexWeight>(&weight)) {
      pairs.push_back(*pair);
    } else {
      matrices.push_back(std::get<DenseWeight>(weight).weight);
    }
  }
  const std::vector<Tensor> tied = pairs.empty() ? std::vector<Tensor>() : block_linear(x, pairs);
  const std::vector<Tensor> dense = matrices.empty() ? std::vector<Tensor>() : ops::linear(x, matrices);
  auto next_tied = tied.begin(), next_dense = dense.begin();
  std::vector<Tensor> results;
  for (const Weight& weight : weights) {
    results.push_back(std::holds_alternative<ComplexWeight>(weight) ? *next_tied++ : *next_dense++);
  }
  return results;
}

Tensor dense_matrix(const Weight& weight) {
  if (const auto* pair = std::get_if<ComplexWeight>(&weight)) return expand(*pair);
  return std::get<DenseWeight>(weight).weight;
}

std::vector<Tensor*> tensors_of(Weight& weight) {
  if (auto* pair = std::get_if<ComplexWeight>(&weight)) return {&pair->a, &pair->b};
  return {&std::get<DenseWeight>(weight).weight};
}

bool is_weight_type(torch::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16;
}

Weight stored(const Weight& weight) {
  Weight result = weight;
  for (Tensor* tensor : tensors_of(result)) *tensor = tensor->detach().contiguous();
  return result;
}

WeightView view(const Weight& weight) {
  if (const auto* pair = std::get_if<ComplexWeight>(&weight)) return {view_of(pair->a), view_of(pair->b)};
  return {view_of(std::get<DenseWeight>(weight).weight), {}};
}

Weight narrow_outputs(const DenseWeight& weight, int64_t first, int64_t count) {
  return count == weight.weight.size(0) ? weight : DenseWeight{weight.weight.narrow(0, first, count)};
}

void multiply_rows(const Weight& weight, const Tensor& x, const Tensor& y, Output output) {
  const auto [a, b] = view(weight);
  const int64_t panel = a.type == WeightType::fp32 ? a.M : std::max<int64_t>(1, kPanelWeights / a.N);
  const bool add = output == Output::add;
  for (int64_t first = 0; first < a.M; first += panel) {
    const int64_t count = std::min(panel, a.M - first);
    if (const auto* pair = std::get_if<ComplexWeight>(&weight)) {
      const Halves out = {y.narrow(1, first, count), y.narrow(1, a.M + first, count)};
      multiply(complex_products(halves_of(x), widened(pair->a, first, count).t(), widened(pair->b, first, count).t(),
                                ComplexFactor::a_minus_ib, out, add));
    } else {
      // ATen's product: for prompts of a few hundred rows it is faster than our own (docs/log.md).
      y.narrow(1, first, count).addmm_(x, widened(std::get<DenseWeight>(weight).weight, first, count).t(), add ? 1 : 0);
    }
  }
}

}  // namespace crope::ops
