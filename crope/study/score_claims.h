// Claims about benchmark scores, compared item by item and seed by seed. A score that does not exceed chance makes its
// claims undecided.
#pragma once

#include <string>
#include <string_view>

#include "crope/study/claim_case.h"

namespace crope::study {

// "TASK: A better than B".
Case score_order(const Runs& runs, std::string_view task, const std::string& better, const std::string& worse);

// "TASK: rope is best", against every other variant that has a score.
Case score_best(const Runs& runs, std::string_view task);

// "TASK: A close to rope". The margin is a share of items: 0.005 is half a point.
Case score_closeness(const Runs& runs, std::string_view task, const std::string& variant, double margin);

// "TASK: no difference between variants", over all that have a score.
Case score_spread(const Runs& runs, std::string_view task, double margin);

}  // namespace crope::study
