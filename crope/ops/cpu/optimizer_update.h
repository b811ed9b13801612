// The element-wise passes of the optimisers, each over memory once. Ranges of a tensor may go to different threads.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// buffer <- momentum buffer + (1 - momentum) grad; update <- (1 - momentum) grad + momentum buffer with Nesterov's
// look-ahead, else buffer. Returns the sum of squares of the update.
struct MomentumUpdate {
  float momentum;
  bool nesterov;
  const float* grad;
  float* buffer;
  float* update;
};
double momentum_update(const MomentumUpdate& call, std::int64_t n);

// value <- keep value - rate direction.
void decay_and_subtract(float* value, const float* direction, float keep, float rate, std::int64_t n);

// One AdamW step; the bias corrections are folded into `rate` (lr / (1 - beta1^t)) and `second_scale`
// (1 / (1 - beta2^t)).
struct AdamwUpdate {
  float beta1, beta2, eps;
  float keep;  // 1 - lr weight_decay
  float rate;
  float second_scale;
  const float* grad;
  float* value;
  float* first;
  float* second;
};
void adamw_update(const AdamwUpdate& call, std::int64_t n);

// Summed in fp32 over pieces of at most 4,096 and in fp64 beyond.
double sum_of_squares(const float* x, std::int64_t n);

// y <- factor x.
void scale_into(float* y, const float* x, float factor, std::int64_t n);

// y <- a + factor b.
void add_into(float* y, const float* a, const float* b, float factor, std::int64_t n);

}  // namespace crope::ops::cpu
