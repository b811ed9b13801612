// The learning rate of each step.
#pragma once

#include <cstdint>

#include "crope/base/choice.h"

namespace crope::optim {

enum class ScheduleKind {
  cosine,              // the paper's: linear warm-up, then half a cosine from lr to min_lr
  constant,            // linear warm-up, then lr
  warmup_stable_decay  // linear warm-up, lr, then linearly to min_lr over the last decay_share of the steps
};

}  // namespace crope::optim

template <>
struct crope::ChoiceNames<crope::optim::ScheduleKind> {
  using Kind = optim::ScheduleKind;
  static constexpr auto kNames =
      choice_names<Kind>({{Kind::cosine, "cosine"}, {Kind::constant, "constant"}, {Kind::warmup_stable_decay, "wsd"}});
};

namespace crope::optim {

struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double lr = 2e-3;
  double min_lr = 4e-4;
  std::int64_t warmup_steps = 50;
  std::int64_t steps = 30'000;
  double decay_share = 0.2;  // of warmup_stable_decay
};

// Throws UsageError unless 0 <= min_lr <= lr, 0 <= warmup_steps and 0 < steps.
void validate(const Schedule& schedule);

// The rate of the update after `step` finished ones: step = 0, 1, …. lr (s + 1)/W while s < W. Steps past the
// end have min_lr, or lr where the schedule is constant.
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace crope::optim
