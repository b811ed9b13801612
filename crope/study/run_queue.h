// Experiments of a study, one after the other or side by side.
#pragma once

#include <vector>

#include "crope/base/log.h"
#include "crope/study/experiment.h"

namespace crope::study {

// Runs every experiment, `jobs` at a time in threads of this process, in the order given. Reports each run that begins
// and ends, with the time left. With more than one job every experiment has to have a launcher.
// False when a signal has stopped it. After a failure the runs that have begun are finished, no other begins, and the
// first error is thrown.
bool run_experiments(const std::vector<Experiment>& experiments, std::int64_t jobs, Log& log);

}  // namespace crope::study
