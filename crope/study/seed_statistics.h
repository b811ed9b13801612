// Means and 95% intervals over the seeds of a variant, and its differences to rope.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "crope/report/run_data.h"
#include "crope/report/run_figures.h"
#include "crope/study/seed_group.h"

namespace crope::study {

// Half of the 95% interval of the mean by Student's t; nothing for fewer than two
// values, or if they are all equal.
std::optional<double> student_margin(const std::vector<double>& values);

using ValueOf = std::function<std::optional<double>(const report::RunData&)>;

// Over those seeds that have the value; nothing where none has.
std::optional<report::VariantValue> over_seeds(const SeedGroup& group, const ValueOf& value);

// A benchmark's score with its interval: over the seeds, or for a single run 1.96 standard errors over the items.
std::optional<report::VariantValue> score_over_seeds(const SeedGroup& group, const report::Benchmark& benchmark);

// Final validation loss minus rope's with the same seed and settings: every group but rope that shares a seed
// with it.
std::vector<report::VariantValue> loss_differences(const std::vector<SeedGroup>& groups);

}  // namespace crope::study
