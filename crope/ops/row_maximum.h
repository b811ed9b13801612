// The largest logit of a row and the normaliser of its softmax. CPU, fp32.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "crope/ops/kernels.h"

namespace crope::ops {

// The maximum ignores values that are not numbers. REQUIRES: logits are not empty.
RowMaximum row_maximum(std::span<const float> logits);

// The maximum of every row of logits[R, N], N > 0.
std::vector<RowMaximum> row_maxima(const torch::Tensor& logits);

}  // namespace crope::ops
