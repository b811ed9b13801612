// Root-mean-square normalisation of rows, with the addition in front of it.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// For rows [begin, end) of [rows, N]: s = x + added; y = s r gain with r = 1/sqrt(mean(s^2) + eps).
struct RmsNormRows {
  std::int64_t N;
  const float* x;
  const float* added;  // null: s is x
  const float* gain;
  float eps;
  float* sum;  // s; null when nothing is added
  float* y;
  float* scale;  // r of each row
};
void rms_norm_rows(const RmsNormRows& call, std::int64_t begin, std::int64_t end);

// With u = g gain: gx = g_sum + r (u - s r mean(u s r)), and grad_gain += g s r.
struct RmsNormRowsBackward {
  std::int64_t N;
  const float* s;
  const float* gain;
  const float* scale;
  const float* g;
  const float* g_sum;  // of s from elsewhere; null is zero
  float* gx;
  float* grad_gain;  // [N], of these rows alone; null when it is not wanted
};
void rms_norm_rows_backward(const RmsNormRowsBackward& call, std::int64_t begin, std::int64_t end);

}  // namespace crope::ops::cpu
