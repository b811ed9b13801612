#include "crope/optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "crope/base/error.h"

namespace crope::optim {

void validate(const Schedule& schedule) {
  if (!(schedule.lr > 0 && std::isfinite(schedule.lr))) {
    throw UsageError(fmt::format("lr = {}: expected a positive number", schedule.lr));
  }
  if (!(schedule.min_lr >= 0 && schedule.min_lr <= schedule.lr)) {
    throw UsageError(fmt::format("min_lr = {}: expected a number from 0 to lr = {}", schedule.min_lr, schedule.lr));
  }
  if (schedule.warmup_steps < 0) {
    throw UsageError(fmt::format("warmup_steps = {}: expected 0 or more", schedule.warmup_steps));
  }
  if (schedule.steps < 1) throw UsageError(fmt::format("steps = {}: expected 1 or more", schedule.steps));
  if (!(schedule.decay_share >= 0 && schedule.decay_share <= 1)) {
    throw UsageError(fmt::format("decay_share = {}: expected a number from 0 to 1", schedule.decay_share));
  }
}

double learning_rate(const Schedule& schedule, std::int64_t step) {
  const auto s = static_cast<double>(step), W = static_cast<double>(schedule.warmup_steps);
  const auto N = static_cast<double>(schedule.steps);
  if (s < W) return schedule.lr * (s + 1) / W;
  const double range = schedule.lr - schedule.min_lr;
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return schedule.lr;
    case ScheduleKind::cosine: {
      const double share = N > W ? std::min(1.0, (s - W) / (N - W)) : 1.0;
      return schedule.min_lr + range / 2 * (1 + std::cos(std::numbers::pi * share));
    }
    case ScheduleKind::warmup_stable_decay: {
      const double length = schedule.decay_share * N;
      const double share = length > 0 ? std::clamp((s - (N - length)) / length, 0.0, 1.0) : 0.0;
      return schedule.lr - range * share;
    }
  }
  return schedule.lr;
}

}  // namespace crope::optim
