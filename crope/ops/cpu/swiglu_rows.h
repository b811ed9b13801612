// The gate of the feed-forward layer on rows that may be slices of wider ones.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// y[row] = silu(gate[row]) up[row] for rows [begin, end) of width N; strides are between rows. y is without gaps.
struct SwigluRows {
  std::int64_t N;
  const float* gate;
  std::int64_t gate_stride;
  const float* up;
  std::int64_t up_stride;
  float* y;
};
void swiglu_rows(const SwigluRows& call, std::int64_t begin, std::int64_t end);

// g is without gaps.
struct SwigluRowsBackward {
  std::int64_t N;
  const float* gate;
  std::int64_t gate_stride;
  const float* up;
  std::int64_t up_stride;
  const float* g;
  float* grad_gate;
  std::int64_t grad_gate_stride;
  float* grad_up;
  std::int64_t grad_up_stride;
};
void swiglu_rows_backward(const SwigluRowsBackward& call, std::int64_t begin, std::int64_t end);

}  // namespace crope::ops::cpu
