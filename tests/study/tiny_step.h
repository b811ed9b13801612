// A training step that takes a moment.
#pragma once

#include "crope/study/step_cost.h"

namespace crope::test {

inline study::StepShape tiny_step() {
  return {.config = {.vocab_size = 512, .num_layers = 2, .num_heads = 2, .d_model = 64, .d_ff = 64, .max_seq_len = 64},
          .rows = 4,
          .seq_len = 32};
}

}  // namespace crope::test
