#include "crope/study/seed_statistics.h"

#include <algorithm>

#include "crope/base/statistics.h"
#include "crope/study/decision.h"
#include "crope/study/seed_pairs.h"

namespace crope::study {
namespace {

constexpr const char* kBaseline = "rope";
constexpr double kNormalQuantile = 1.96;

report::VariantValue summarized(const SeedGroup& group, std::vector<double> values) {
  return {.label = group.label,
          .variant = group.variant,
          .mean = crope::summarize(values).mean,
          .margin = student_margin(values),
          .values = std::move(values)};
}

// Runs without a known seed, groups of their own, count as one seed.
BySeed losses_of(const SeedGroup& group) {
  BySeed losses;
  for (const report::RunData* run : group.runs) {
    if (const auto loss = report::final_val_loss(*run)) losses[run->seed.value_or(-1)] = *loss;
  }
  return losses;
}

const SeedGroup* baseline_of(const SeedGroup& group, const std::vector<SeedGroup>& groups) {
  const auto found = std::ranges::find_if(
      groups, [&](const SeedGroup& other) { return other.variant == kBaseline && other.settings == group.settings; });
  return found == groups.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> student_margin(const std::vector<double>& values) {
  const auto interval = interval_95(seed_difference(values));
  return interval ? std::optional((interval->high - interval->low) / 2) : std::nullopt;
}

std::optional<report::VariantValue> over_seeds(const SeedGroup& group, const ValueOf& value) {
  std::vector<double> values;
  for (const report::RunData* run : group.runs) {
    if (const auto found = value(*run)) values.push_back(*found);
  }
  if (values.empty()) return {};
  return summarized(group, std::move(values));
}

std::optional<report::VariantValue> score_over_seeds(const SeedGroup& group, const report::Benchmark& benchmark) {
  double item_error = 0;
  auto result = over_seeds(group, [&](const report::RunData& run) -> std::optional<double> {
    const auto score = report::find_score(run, benchmark);
    if (!score) return {};
    item_error = score->error;
    return score->value;
  });
  if (result && result->values.size() == 1 && item_error > 0) result->margin = kNormalQuantile * item_error;
  return result;
}

std::vector<report::VariantValue> loss_differences(const std::vector<SeedGroup>& groups) {
  std::vector<report::VariantValue> differences;
  for (const SeedGroup& group : groups) {
    const SeedGroup* baseline = group.variant == kBaseline ? nullptr : baseline_of(group, groups);
    if (baseline == nullptr) continue;
    std::vector<double> values = pair_by_seed(losses_of(*baseline), losses_of(group)).differences();
    if (!values.empty()) differences.push_back(summarized(group, std::move(values)));
  }
  return differences;
}

}  // namespace crope::study
