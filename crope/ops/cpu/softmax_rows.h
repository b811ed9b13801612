// Softmax of attention scores, forward and backward. That of logits, for the loss, is cross_entropy_rows (kernels.h).
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// Row i of a block of scores [rows, stride] sees its first (first + i + 1) columns, at most `columns`: they become
// softmax(scale score), the rest zero up to `columns`. log_sums[i] gets log(sum(exp(scale score))), unless it is null.
struct AttentionSoftmax {
  std::int64_t rows, columns, stride;
  std::int64_t first;  // row 0 sees columns [0, first]
  float scale;
  float* scores;
  float* log_sums;
};
void attention_softmax(const AttentionSoftmax& call);

// Remakes the probabilities from scores and log_sums, in place, and turns grad (of the probabilities) into that of the
// scores, in place: p = exp(scale score - log_sum), g <- scale p (g - delta). Both are zero where a row does not see.
struct AttentionSoftmaxBackward {
  std::int64_t rows, columns, stride;
  std::int64_t first;
  float scale;
  float* scores;
  const float* log_sums;
  float* grad;
  const float* delta;  // of each row: sum of output times gradient of output
};
void attention_softmax_backward(const AttentionSoftmaxBackward& call);

}  // namespace crope::ops::cpu
