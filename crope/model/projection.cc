#include "crope/model/projection.h"

#include <ATen/ATen.h>

#include <vector>

namespace crope::model {

using torch::Tensor;

Tensor project(const Tensor& x, const Projection& projection) {
  if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) return ops::block_linear(x, *pair);
  return at::linear(x, std::get<DenseWeight>(projection).weight);
}

std::array<Tensor, 3> project(const Tensor& x, const std::array<Projection, 3>& projections) {
  // The tied ones go together; which they are depends on the variant.
  std::array<Tensor, 3> results;
  std::vector<ops::ComplexWeight> pairs;
  for (const Projection& projection : projections) {
    if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) pairs.push_back(*pair);
  }
  const std::vector<Tensor> tied = pairs.empty() ? std::vector<Tensor>() : ops::block_linear(x, pairs);
  auto next_tied = tied.begin();
  for (std::size_t i = 0; i < projections.size(); ++i) {
    const bool is_tied = std::holds_alternative<ops::ComplexWeight>(projections[i]);
    results[i] = is_tied ? *next_tied++ : project(x, projections[i]);
  }
  return results;
}

Tensor dense_matrix(const Projection& projection) {
  if (const auto* pair = std::get_if<ops::ComplexWeight>(&projection)) return ops::expand(*pair);
  return std::get<DenseWeight>(projection).weight;
}

}  // namespace crope::model
