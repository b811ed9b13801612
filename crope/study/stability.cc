#include "crope/study/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "crope/base/statistics.h"

namespace crope::study {
namespace {

// Nothing if no value is finite.
template <typename Value>
std::optional<double> median_of_finite(std::span<const StepRecord> steps, const Value& value) {
  std::vector<double> values;
  for (const StepRecord& step : steps) {
    const std::optional<double> each = value(step);
    if (each && std::isfinite(*each)) values.push_back(*each);
  }
  if (values.empty()) return {};
  return median(std::move(values));
}

std::optional<double> median_loss(std::span<const StepRecord> steps) {
  return median_of_finite(steps, [](const StepRecord& step) { return std::optional(step.loss); });
}

std::string not_finite(const StepRecord& step) {
  if (!std::isfinite(step.loss)) return "the loss is not finite";
  if (step.grad_norm && !std::isfinite(*step.grad_norm)) return "the gradient norm is not finite";
  return "";
}

// Describes what is wrong with a step; empty if nothing is. `before` is a full window, or empty.
std::string problem_at(const StepRecord& step, std::span<const StepRecord> before) {
  const auto loss = median_loss(before);
  if (loss && step.loss > *loss + kLossJump) return fmt::format("loss {:.3f}, median {:.3f}", step.loss, *loss);
  const auto norm = median_of_finite(before, [](const StepRecord& each) { return each.grad_norm; });
  if (norm && step.grad_norm && *step.grad_norm > kNormJump * *norm) {
    return fmt::format("gradient norm {:.3g}, median {:.3g}", *step.grad_norm, *norm);
  }
  return "";
}

}  // namespace

Stability check_stability(const StudyRun& run) {
  Stability result;
  const auto report = [&](const std::string& problem) {
    if (result.is_stable) result.problem = fmt::format("{}, {}", run.name, problem);
    result.is_stable = false;
  };
  const std::span<const StepRecord> steps = run.steps;
  std::optional<double> lowest;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const std::string problem = not_finite(steps[i]); !problem.empty()) {
      report(fmt::format("step {}: {}", steps[i].step, problem));
      continue;
    }
    if (steps[i].step <= run.warmup_steps) continue;
    const bool has_window = i >= kStabilityWindow;
    const auto before = has_window ? steps.subspan(i - kStabilityWindow, kStabilityWindow) : steps.first(0);
    const std::string problem = problem_at(steps[i], before);
    if (!problem.empty()) report(fmt::format("step {}: {}", steps[i].step, problem));
    if (!has_window) continue;
    ++result.steps_checked;
    if (const auto loss = median_loss(before)) lowest = std::min(lowest.value_or(*loss), *loss);
  }
  if (result.steps_checked == 0) return result;
  const auto end = median_loss(steps.last(kStabilityWindow));
  if (end && lowest && *end > *lowest + kLossJump) {
    report(fmt::format("end: median loss {:.3f}, lowest {:.3f}", *end, *lowest));
  }
  return result;
}

}  // namespace crope::study
