// Sums and differences of the real and imaginary halves of rows.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// sum[R, N] <- re + im and difference[R, N] <- re - im (null: not wanted) for rows [begin, end); strides are between
// rows of re and im, the results are without gaps.
struct HalvesSum {
  std::int64_t N;
  const float* re;
  std::int64_t re_stride;
  const float* im;
  std::int64_t im_stride;
  float* sum;
  float* difference;
};
void sum_halves(const HalvesSum& call, std::int64_t begin, std::int64_t end);

}  // namespace crope::ops::cpu
