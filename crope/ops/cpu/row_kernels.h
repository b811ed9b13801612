// What inference does to single rows of floats between its products.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// y[N] = x / sqrt(mean(x^2) + eps) * gain. x and y may be the same.
void normalise_row(const float* x, const float* gain, float eps, std::int64_t N, float* y);

// gate[N] = silu(gate) * up.
void gate_row(float* gate, const float* up, std::int64_t N);

// One head of queries or keys: re[K/2] and im[K/2] become out[K], in halves, normalised (not where gain is null; it is
// [K], in halves) and then multiplied by cos + i sin, [K/2] each.
void rotate_head(const float* re, const float* im, const float* gain, float eps, const float* cos, const float* sin,
                 std::int64_t K, float* out);

struct RowMaximum {
  std::int64_t index;  // of the first largest value
  float value;
  double log_sum_exp;  // over the row
};

// Of logits [N], N > 0. Values that are not numbers are passed over in the maximum.
RowMaximum row_maximum(const float* logits, std::int64_t N);

}  // namespace crope::ops::cpu
