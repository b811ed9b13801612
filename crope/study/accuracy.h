// Accuracies of several seeds, compared item by item.
//
// Two sources of chance are added: seeds, as the variance of the seeds' differences over their number, and items, as
// the variance over items of the difference averaged over seeds, over the number of items.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crope/study/decision.h"
#include "crope/study/study_run.h"

namespace crope::study {

using Scores = std::vector<const Score*>;  // of one variant, one per seed

// Why these scores cannot be compared: a problem of one, or items that differ in tasks or number. Empty if they
// can. `scores` holds the scores of all variants.
std::string comparison_problem(std::span<const Scores> scores);

// a - b. Scores without items are compared with the standard errors of results.json, as if on different items.
// REQUIRES: as many of one as of the other, at least one, and no comparison_problem.
Difference accuracy_difference(const Scores& a, const Scores& b);

// Score - chance.
Difference accuracy_above(const Scores& scores, double chance);

// The differences of all pairs i < j of variants. The seeds' variance is the residual of the layout with seeds as
// blocks, pooled over variants. REQUIRES: the same seeds for each variant, at least two.
std::vector<Difference> pairwise_differences(std::span<const Scores> variants);

}  // namespace crope::study
