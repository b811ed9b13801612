#include "crope/model/projection.h"

#include <ATen/ATen.h>

#include "crope/ops/linear.h"

namespace crope::model {

using torch::Tensor;

Tensor project(const Tensor& x, const Projection& projection) {
  if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) return ops::block_linear(x, *pair);
  return ops::linear(x, std::get<DenseWeight>(projection).weight);
}

std::vector<Tensor> project_all(const Tensor& x, std::span<const Projection> projections) {
  // Which are tied depends on the variant.
  std::vector<ops::ComplexWeight> pairs;
  std::vector<Tensor> weights;
  for (const Projection& projection : projections) {
    if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) {
      pairs.push_back(*pair);
    } else {
      weights.push_back(std::get<DenseWeight>(projection).weight);
    }
  }
  const std::vector<Tensor> tied = pairs.empty() ? std::vector<Tensor>() : ops::block_linear(x, pairs);
  const std::vector<Tensor> dense = weights.empty() ? std::vector<Tensor>() : ops::linear(x, weights);
  auto next_tied = tied.begin(), next_dense = dense.begin();
  std::vector<Tensor> results;
  for (const Projection& projection : projections) {
    results.push_back(std::holds_alternative<ops::ComplexWeight>(projection) ? *next_tied++ : *next_dense++);
  }
  return results;
}

Tensor dense_matrix(const Projection& projection) {
  if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) return ops::expand(*pair);
  return std::get<DenseWeight>(projection).weight;
}

}  // namespace crope::model
