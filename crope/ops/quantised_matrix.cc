#include "crope/ops/quantised_matrix.h"

#include <ATen/ATen.h>

#include "crope/base/error.h"
#include "crope/base/rounding.h"
#include "crope/ops/device.h"

namespace crope::ops {
namespace {

using torch::Tensor;

const Kernels& quantising_kernels() {
  return inference_kernels(at::kCPU, at::kFloat);
}

WeightMatrix view_of_quantised(const QuantisedMatrix& matrix) {
  return {matrix.bytes.const_data_ptr(), matrix.type, matrix.M, matrix.N};
}

QuantisedMatrix empty_matrix(WeightType type, int64_t M, int64_t N) {
  return {at::empty({quantising_kernels().quantised_bytes(type, M, N)}, at::kByte), type, M, N};
}

// Columns that nothing has come through cost a little as well: their weights keep their signs and sizes.
Tensor positive_costs(const Tensor& costs) {
  const double mean = costs.mean().item<double>();
  if (!std::isfinite(mean) || mean <= 0) return at::ones_like(costs);
  return (costs + 1e-4 * mean).to(at::kFloat).contiguous();
}

}  // namespace

QuantisedMatrix quantised(const Tensor& weight, WeightType type, const Tensor& column_costs) {
  const Tensor wide = weight.detach().to(at::kFloat).contiguous();
  if (!at::isfinite(wide).all().item<bool>()) {
    throw Error("weights that are not finite cannot be rounded to fewer bits", "take an earlier checkpoint");
  }
  const Tensor costs = column_costs.defined() ? positive_costs(column_costs) : Tensor();
  QuantisedMatrix result = empty_matrix(type, wide.size(0), wide.size(1));
  quantising_kernels().quantise_matrix({.from = view(wide),
                                        .type = type,
                                        .to = result.bytes.data_ptr(),
                                        .column_costs = costs.defined() ? costs.const_data_ptr<float>() : nullptr});
  return result;
}

Tensor widened(const QuantisedMatrix& matrix, int64_t first, int64_t count) {
  Tensor rows = at::empty({count, matrix.N}, at::kFloat);
  quantising_kernels().widen_rows({.weight = view_of_quantised(matrix), .first = first, .y = mutable_view(rows)});
  return rows;
}

Tensor widened(const QuantisedMatrix& matrix) {
  return widened(matrix, 0, matrix.M);
}

std::array<int64_t, 3> block_shape(WeightType type, int64_t M, int64_t N) {
  return {M, divide_up(N, kQuantisedBlock), quantised_block_bytes(type)};
}

std::optional<WeightType> type_of_blocks(int64_t block_bytes) {
  for (const WeightType type : {WeightType::int8, WeightType::int4, WeightType::int4_min}) {
    if (quantised_block_bytes(type) == block_bytes) return type;
  }
  return std::nullopt;
}

Tensor to_blocks(const QuantisedMatrix& matrix) {
  Tensor blocks = at::empty(block_shape(matrix.type, matrix.M, matrix.N), at::kByte);
  quantising_kernels().unpack_blocks({.weight = view_of_quantised(matrix), .blocks = blocks.data_ptr()});
  return blocks;
}

QuantisedMatrix from_blocks(const Tensor& blocks, WeightType type, int64_t N) {
  const int64_t heads = type == WeightType::int4_min ? 4 : 2;  // bytes of scale and minimum
  const Tensor scales = blocks.narrow(2, 0, heads).contiguous().view(at::kHalf);
  if (!at::isfinite(scales).all().item<bool>()) {
    throw Error("a scale of its blocks is not finite", "fetch or make the file again");
  }
  QuantisedMatrix result = empty_matrix(type, blocks.size(0), N);
  const Tensor plain = blocks.contiguous();
  quantising_kernels().pack_blocks(
      {.blocks = plain.const_data_ptr(), .type = type, .M = result.M, .N = N, .to = result.bytes.data_ptr()});
  return result;
}

double bits_per_weight(WeightType type) {
  if (is_quantised(type)) return 8.0 * static_cast<double>(quantised_block_bytes(type)) / kQuantisedBlock;
  return type == WeightType::bf16 ? 16 : 32;
}

}  // namespace crope::ops
