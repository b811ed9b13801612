// The outcomes of a study, for people and for programs.
#pragma once

#include <span>

#include "crope/base/json.h"
#include "crope/study/experiment.h"

namespace crope::cli {

// variant, parameters, losses, speed, and the paper's metric of each benchmark with its standard error.
void print_outcomes(std::span<const study::Outcome> outcomes);

Json outcomes_to_json(std::span<const study::Outcome> outcomes);

}  // namespace crope::cli
