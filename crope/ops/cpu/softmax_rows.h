// Softmax of rows: of logits for the loss, and of attention scores, forward and backward.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// A row of logits becomes the gradient of its loss, share (softmax - onehot(target)); returns the loss,
// log(sum(exp(logits))) - logits[target]. With share 0 the logits are left as they are.
double cross_entropy_row(float* logits, std::int64_t V, std::int64_t target, float share);

// Row i of a block of scores [rows, stride] sees its first (first + i + 1) columns, at most `columns`: they become
// softmax(scale score), the rest zero up to `columns`. log_sums[i] gets log(sum(exp(scale score))).
struct AttentionSoftmax {
  std::int64_t rows, columns, stride;
  std::int64_t first;  // columns - 1 and more: every row sees all
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
