// Whether training was stable, by a fixed rule.
#pragma once

#include <cstddef>
#include <string>

#include "crope/study/study_run.h"

namespace crope::study {

// A run is unstable at a step if its loss or gradient norm is not finite, and after warm-up if
//   its loss exceeds the median loss of the 50 steps before it by more than kLossJump,
//   its gradient norm exceeds their median norm more than kNormJump times,
// and at its end if the median of the last 50 losses exceeds the lowest such median by more than kLossJump.
inline constexpr std::size_t kStabilityWindow = 50;
inline constexpr double kLossJump = 0.5;  // nat
inline constexpr double kNormJump = 10;

struct Stability {
  std::size_t steps_checked = 0;  // steps after warm-up with a full window before them
  bool is_stable = true;
  std::string problem;  // the first one: "crope_all_2, step 312: loss 5.100, median 3.200"
};

Stability check_stability(const StudyRun& run);

}  // namespace crope::study
