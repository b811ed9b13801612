// The curves of the loss figures: smoothed, averaged over seeds, cut to the steps that are enlarged.
#pragma once

#include <vector>

#include "crope/report/run_figures.h"
#include "crope/study/seed_group.h"

namespace crope::study {

struct SeedCurve {
  report::Points mean;
  report::Band range;  // lowest and highest over the seeds; empty for one run
};

// At the steps that all runs of the group have, each smoothed over `window` points first.
SeedCurve curve_over_seeds(const SeedGroup& group, report::Points report::RunData::*loss, std::size_t window);

// The first of the steps that an inset shows: the last 200, or the last third of a shorter run.
double inset_begin(double last_step);

// Training and validation loss, each where any run has it.
std::vector<report::LossFigure> loss_figures(const std::vector<SeedGroup>& groups);

}  // namespace crope::study
