// Matrices of 8 or 4 bits a weight, for inference alone.
//
// 32 neighbouring weights of a row are a block. In files a block is GGUF's, and a matrix is its blocks row after row
// (docs/formats.md); in memory it lies in the order of the device's kernels.
//
//   int8      Q8_0   a 16-bit float d and 32 signed bytes q, which stand for d q
//   int4      Q4_0   d and 16 bytes; byte c has q + 8 of column c in its low half and of column c + 16 in its high half
//   int4_min  Q4_1   d, a 16-bit float m, and 16 bytes in the same order: d q + m with q from 0 to 15
//
// A row whose width is no multiple of 32 is filled up with zeros.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "crope/ops/kernels.h"

namespace crope::ops {

struct QuantisedMatrix {
  torch::Tensor bytes;  // in the order of the device's kernels
  WeightType type = WeightType::int8;
  std::int64_t M = 0, N = 0;
};

// `weight` [M, N] rounded to int8 or int4. `column_costs` [N], fp32, or undefined: what a squared error in each column
// costs; the scales of int4 are chosen for it. Throws Error if a weight is not finite.
QuantisedMatrix quantised(const torch::Tensor& weight, WeightType type, const torch::Tensor& column_costs = {});

// Rows [first, first + count) in fp32, or all of them.
torch::Tensor widened(const QuantisedMatrix& matrix, std::int64_t first, std::int64_t count);
torch::Tensor widened(const QuantisedMatrix& matrix);

// The shape of a matrix as blocks: rows, blocks of a row, bytes of a block.
std::array<std::int64_t, 3> block_shape(WeightType type, std::int64_t M, std::int64_t N);

// The type whose blocks have this many bytes.
std::optional<WeightType> type_of_blocks(std::int64_t block_bytes);

// The matrix as blocks, a tensor of bytes of block_shape, and back. Throws Error if a scale or minimum is not finite.
torch::Tensor to_blocks(const QuantisedMatrix& matrix);
QuantisedMatrix from_blocks(const torch::Tensor& blocks, WeightType type, std::int64_t N);

// 8.5, 4.5 or 5; 32 and 16 of the types that are not quantised.
double bits_per_weight(WeightType type);

}  // namespace crope::ops
