// Sums of squares and scaled sums of vectors, each one pass over memory, on the calling thread.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// Summed in fp32 over pieces of at most 4,096 and in fp64 beyond.
double sum_of_squares(const float* x, std::int64_t n);

// y <- factor x.
void scale_into(float* y, const float* x, float factor, std::int64_t n);

// y <- a + factor b.
void add_into(float* y, const float* a, const float* b, float factor, std::int64_t n);

}  // namespace crope::ops::cpu
