#include "crope/ops/weight.h"

#include <ATen/ATen.h>

#include "crope/ops/device.h"
#include "crope/ops/linear.h"
#include "crope/ops/product_source.h"
#include "crope/ops/products.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Weights that are not fp32 are widened this many at a time where a product of many rows wants them so.
constexpr int64_t kPanelWeights = int64_t{1} << 20;

// Rows of x that are rounded to integers at a time: they stay in the second cache while the weight passes by.
constexpr int64_t kIntegerRows = 256;

const Kernels& cpu_kernels() {
  return inference_kernels(at::kCPU, at::kFloat);
}

// In the type of its parts, summed in fp32.
DenseWeight expanded(const AnnealedWeight& weight) {
  Weight wide = weight;
  for (Tensor* tensor : tensors_of(wide)) *tensor = tensor->detach().to(at::kFloat);
  return {dense_matrix(wide).to(weight.linear.a.scalar_type())};
}

WeightMatrix view_of(const QuantisedMatrix& weight) {
  return {weight.bytes.const_data_ptr(), weight.type, weight.M, weight.N};
}

WeightMatrix view_of(const Tensor& weight) {
  const auto type = weight.scalar_type() == at::kBFloat16 ? WeightType::bf16 : WeightType::fp32;
  return {weight.const_data_ptr(), type, weight.size(0), weight.size(1)};
}

// Rows [first, first + count) in fp32.
Tensor widened(const Tensor& weight, int64_t first, int64_t count) {
  return weight.narrow(0, first, count).to(at::kFloat);
}

// y = x W^T of rows [first, first + count) of a dense matrix.
template <typename Matrix>
void multiply_dense(const Matrix& weight, const Tensor& x, int64_t first, int64_t count, const Tensor& y, bool add) {
  Tensor part = y.narrow(1, first, count);
  const Tensor right = widened(weight, first, count).t();
  if (product_source(ProductUse::prompts) == ProductSource::own) return multiply(part, x, right, add);
  part.addmm_(x, right, add ? 1 : 0);
}

template <typename Matrix>
void multiply_pair(const Matrix& a, const Matrix& b, const Tensor& x, int64_t first, int64_t count, const Tensor& y,
                   bool add) {
  const Halves out = {y.narrow(1, first, count), y.narrow(1, y.size(1) / 2 + first, count)};
  multiply(complex_products(halves_of(x), widened(a, first, count).t(), widened(b, first, count).t(),
                            ComplexFactor::a_minus_ib, out, add));
}

}  // namespace

Tensor project(const Tensor& x, const Weight& weight) {
  if (const auto* pair = std::get_if<ComplexWeight>(&weight)) return block_linear(x, *pair);
  return ops::linear(x, dense_matrix(weight));
}

std::vector<Tensor> project_all(const Tensor& x, std::span<const Weight> weights) {
  std::vector<ComplexWeight> pairs;
  std::vector<Tensor> matrices;
  for (const Weight& weight : weights) {
    if (const auto* pair = std::get_if<ComplexWeight>(&weight)) {
      pairs.push_back(*pair);
    } else {
      matrices.push_back(dense_matrix(weight));
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
  if (const auto* annealed = std::get_if<AnnealedWeight>(&weight)) return annealed_matrix(*annealed);
  return std::get<DenseWeight>(weight).weight;
}

std::vector<Tensor*> tensors_of(Weight& weight) {
  if (auto* pair = std::get_if<ComplexWeight>(&weight)) return {&pair->a, &pair->b};
  if (auto* annealed = std::get_if<AnnealedWeight>(&weight)) {
    return {&annealed->linear.a, &annealed->linear.b, &annealed->conjugate.a, &annealed->conjugate.b};
  }
  return {&std::get<DenseWeight>(weight).weight};
}

bool is_weight_type(torch::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16;
}

Weight stored(const Weight& weight) {
  if (std::holds_alternative<QuantisedWeight>(weight)) return weight;
  if (const auto* annealed = std::get_if<AnnealedWeight>(&weight)) return stored(expanded(*annealed));
  Weight result = weight;
  for (Tensor* tensor : tensors_of(result)) *tensor = tensor->detach().contiguous();
  return result;
}

Weight widened(const Weight& weight) {
  const auto* rounded = std::get_if<QuantisedWeight>(&weight);
  if (rounded == nullptr) return weight;
  if (rounded->b) return ComplexWeight{widened(rounded->a), widened(*rounded->b)};
  return DenseWeight{widened(rounded->a)};
}

Tensor look_up(const Weight& weight, const Tensor& ids) {
  const auto* rounded = std::get_if<QuantisedWeight>(&weight);
  if (rounded == nullptr) return at::embedding(std::get<DenseWeight>(weight).weight, ids);
  const Tensor narrow = ids.to(at::kInt).contiguous();
  Tensor rows = at::empty({ids.numel(), rounded->a.N}, at::kFloat);
  cpu_kernels().look_up_rows({.table = view_of(rounded->a),
                              .ids = {narrow.const_data_ptr<std::int32_t>(), static_cast<std::size_t>(ids.numel())},
                              .y = mutable_view(rows)});
  std::vector<int64_t> shape = ids.sizes().vec();
  shape.push_back(rounded->a.N);
  return rows.view(shape);
}

WeightView view(const Weight& weight) {
  if (const auto* pair = std::get_if<ComplexWeight>(&weight)) return {view_of(pair->a), view_of(pair->b)};
  if (const auto* rounded = std::get_if<QuantisedWeight>(&weight)) {
    return {view_of(rounded->a), rounded->b ? view_of(*rounded->b) : WeightMatrix()};
  }
  return {view_of(std::get<DenseWeight>(weight).weight), {}};
}

Weight narrow_outputs(const Weight& weight, int64_t first, int64_t count) {
  const WeightView whole = view(weight);
  if (count == whole.a.M) return weight;
  if (const auto* rounded = std::get_if<QuantisedWeight>(&weight)) {
    const int64_t begin = cpu_kernels().quantised_bytes(whole.a.type, first, whole.a.N);
    const int64_t bytes = cpu_kernels().quantised_bytes(whole.a.type, count, whole.a.N);
    return QuantisedWeight{{rounded->a.bytes.narrow(0, begin, bytes), whole.a.type, count, whole.a.N}, {}};
  }
  return DenseWeight{std::get<DenseWeight>(weight).weight.narrow(0, first, count)};
}

void multiply_rows(const Weight& weight, const Tensor& x, const Tensor& y, Output output) {
  const auto [a, b] = view(weight);
  if (is_quantised(a.type) && cpu_kernels().prefers_integer_products()) {
    for (int64_t first = 0; first < x.size(0); first += kIntegerRows) {
      const int64_t count = std::min(kIntegerRows, x.size(0) - first);
      const LinearRows::Map map = {view(weight), mutable_view(y.narrow(0, first, count))};
      cpu_kernels().linear_rows({.x = view(x.narrow(0, first, count)), .maps = {&map, 1}, .output = output});
    }
    return;
  }
  const int64_t panel = a.type == WeightType::fp32 ? a.M : std::max<int64_t>(16, kPanelWeights / a.N / 16 * 16);
  const bool add = output == Output::add;
  for (int64_t first = 0; first < a.M; first += panel) {
    const int64_t count = std::min(panel, a.M - first);
    if (const auto* pair = std::get_if<ComplexWeight>(&weight)) {
      multiply_pair(pair->a, pair->b, x, first, count, y, add);
    } else if (const auto* rounded = std::get_if<QuantisedWeight>(&weight); rounded != nullptr && rounded->b) {
      multiply_pair(rounded->a, *rounded->b, x, first, count, y, add);
    } else if (rounded != nullptr) {
      multiply_dense(rounded->a, x, first, count, y, add);
    } else {
      multiply_dense(std::get<DenseWeight>(weight).weight, x, first, count, y, add);
    }
  }
}

}  // namespace crope::ops
