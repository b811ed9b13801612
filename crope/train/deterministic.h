// Runs that repeat bit for bit on devices whose fastest kernels add in no fixed order.
#pragma once

#include <torch/types.h>

namespace crope::train {

// While it lives, and if `wanted`, ATen uses operations that give the same bits every time, and throws where it has
// none. Does nothing on the CPU, where every operation of a run repeats.
class DeterministicScope {
 public:
  DeterministicScope(torch::Device device, bool wanted);
  ~DeterministicScope();

  DeterministicScope(const DeterministicScope&) = delete;
  DeterministicScope& operator=(const DeterministicScope&) = delete;

 private:
  bool is_on_;
  bool before_ = false;
  bool filled_before_ = false;
};

}  // namespace crope::train
