// Measures the cost of a training step: time by part, and memory.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

#include "crope/model/config.h"
#include "crope/ops/profile.h"

namespace crope::study {

struct StepShape {
  model::ModelConfig config;
  std::int64_t rows = 1;
  std::int64_t seq_len = 1;
  at::ScalarType precision = at::kFloat;  // fp32, or bf16 by autocast

  std::int64_t tokens() const { return rows * seq_len; }
};

struct StepCost {
  double forward_s = 0;  // medians
  double backward_s = 0;
  double optimizer_s = 0;
  double flops = 0;                    // of the products of forward and backward
  std::uint64_t lasting_bytes = 0;     // weights, gradients and the optimiser's state
  std::uint64_t peak_bytes = 0;        // of all large tensors at one time; 0 unless keep_tensor_memory() was called
  double mean_s = 0;                   // of the whole step
  std::vector<ops::ProfileRow> parts;  // of one step, on average

  double gradient_s() const { return forward_s + backward_s; }
  double step_s() const { return gradient_s() + optimizer_s; }
};

// A model of random weights on random tokens, one step more than `repetitions`: the first one fetches memory from the
// system and does not count. Throws what check_step throws.
StepCost measure_step(const StepShape& shape, int repetitions);

// Throws UsageError if no such step can be measured: an impossible model or batch, or less than one repetition.
void check_step(const StepShape& shape, int repetitions);

}  // namespace crope::study
