#include "crope/interop/residual_pairing.h"

#include <ATen/ATen.h>

#include <numeric>
#include <string_view>

#include "crope/model/norm_gain.h"
#include "crope/ops/check.h"

namespace crope::interop {
namespace {

using torch::Tensor;

// Which dimension of a dense parameter is the residual stream; -1: none.
int residual_dimension(std::string_view name) {
  for (const std::string_view writer : {"attention.o.weight", "feed_forward.down.weight"}) {
    if (name.ends_with(writer)) return 0;
  }
  if (name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight")) return -1;
  return name.ends_with("norm.weight") ? 0 : 1;  // gains; and all that reads it: embedding, output, q, k, v, gate, up
}

}  // namespace

ResidualOrder pair_for(const std::vector<Tensor>& matrices) {
  const int64_t D = matrices.at(0).size(1), N = D / 2;
  Tensor worth = at::zeros({D, D}, torch::kFloat64);
  for (const Tensor& matrix : matrices) {
    ops::check_shape(matrix.dim() == 2 && matrix.size(0) % 2 == 0 && matrix.size(1) == D, "pair_for", "matrix",
                     "[2M, D]", matrix);
    const Tensor w = matrix.to(torch::kFloat64);
    const int64_t M = w.size(0) / 2;
    const Tensor product = w.narrow(0, 0, M).t().mm(w.narrow(0, M, M));
    // Columns (i, j) of a tied matrix are (a, b) in the real rows u and (-b, a) in the imaginary rows v.
    worth += product - product.t();
  }
  const double given = worth.diagonal(N).narrow(0, 0, N).sum().item<double>();
  const Tensor ranked = worth.flatten().argsort(-1, /*descending=*/true);
  const auto* next = ranked.const_data_ptr<int64_t>();
  const auto* values = worth.const_data_ptr<double>();
  std::vector<bool> used(static_cast<std::size_t>(D), false);
  ResidualOrder order(static_cast<std::size_t>(D));
  double total = 0;
  for (int64_t pair = 0; pair < N; ++next) {
    const auto i = static_cast<std::size_t>(*next / D), j = static_cast<std::size_t>(*next % D);
    if (i == j || used[i] || used[j]) continue;
    used[i] = used[j] = true;
    order[static_cast<std::size_t>(pair)] = static_cast<int64_t>(i);
    order[static_cast<std::size_t>(N + pair)] = static_cast<int64_t>(j);
    total += values[*next];
    ++pair;
  }
  if (total < given) std::iota(order.begin(), order.end(), 0);
  return order;
}

model::Transformer reorder_residual(const model::Transformer& model, const ResidualOrder& order) {
  const Tensor index = at::tensor(order, torch::kInt64);
  model::ModelConfig config = model.config;
  config.norm_gain = model::Gain::free;  // a gain shared by a pair is not shared by the new ones
  std::vector<Tensor> values;
  for (const model::Parameter& parameter : model.parameters) {
    const int dimension = residual_dimension(parameter.spec.name);
    Tensor value = parameter.value.detach();
    if (dimension == 0 && value.dim() == 1) value = model::expand_gain(value, config.d_model);
    values.push_back(dimension < 0 ? value : value.index_select(dimension, index));
  }
  return model::make_transformer(config, values);
}

}  // namespace crope::interop
