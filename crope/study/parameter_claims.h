// Claims about parameter counts. They are exact: no seeds and no tests are needed.
#pragma once

#include <vector>

#include "crope/study/claims.h"
#include "crope/study/study_data.h"

namespace crope::study {

// Savings in attention, equal totals of matched pairs, and equal embedding and feed-forward parameters.
std::vector<Claim> judge_parameters(const Study& study);

}  // namespace crope::study
