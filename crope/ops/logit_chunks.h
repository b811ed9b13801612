// The rows of an output projection in chunks, so that logits [R, V] never exist as a whole.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>

#include "crope/base/rounding.h"

namespace crope::ops {

// Rows whose logits over V tokens are at most `most_logits` numbers, but 64 to 4,096: enough of them to keep products
// at full speed, few enough to stay small beside the weights. Chunks of R rows are of nearly one size.
inline std::int64_t logit_chunk_rows(std::int64_t R, std::int64_t V, std::int64_t most_logits) {
  return even_piece(R, std::clamp<std::int64_t>(most_logits / V, 64, 4096));
}

// Calls visit(first row, number of rows) for each chunk.
template <typename Visit>
void for_each_logit_chunk(std::int64_t R, std::int64_t V, std::int64_t most_logits, const Visit& visit) {
  const std::int64_t step = logit_chunk_rows(R, V, most_logits);
  for (std::int64_t row = 0; row < R; row += step) visit(row, std::min(step, R - row));
}

// The type of logits, losses and sums over chunks: fp32 at least, for the softmax of bf16 logits loses the loss's last
// digits.
inline torch::ScalarType logit_type(const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

}  // namespace crope::ops
