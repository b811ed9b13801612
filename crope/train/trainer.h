// The training loop: a run directory goes from where it is to its last step, or to where a signal stops it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crope/base/log.h"
#include "crope/dist/process_group.h"
#include "crope/train/train_job.h"
#include "crope/train/validation.h"

namespace crope::train {

struct TrainSummary {
  std::int64_t step = 0;  // finished updates
  bool finished = false;  // false: a signal came, and the run can go on
  std::int64_t parameters = 0;
  std::uint64_t tokens = 0;
  std::optional<double> loss;  // of the last update of this process
  std::optional<ValidationResult> validation;
  std::vector<std::pair<std::string, double>> other_losses;  // validation loss on each other text, at the last step
  double tokens_per_second = 0;                              // of the middle step of this process; 0 if it made none
  double elapsed_s = 0;                                      // over all processes that worked at the run
  std::uint64_t peak_memory = 0;
  std::uint64_t optimizer_bytes = 0;  // of the rank that has most
};

// Trains job.run until its last step. Resumes from its newest good checkpoint, and is then bit for bit where it would
// have been without the interruption, on the same machine and with the same number of threads. The first SIGINT or
// SIGTERM, where the caller has an InterruptScope, ends it with a checkpoint after the last finished step.
//
// The ranks of a group train one run in a folder that they all see, each with its share of every batch; the first of
// them writes its record and its metrics. They may be another number than those that saved the checkpoint.
//
// Throws Error if the run belongs to other data, another process trains it, a loss or gradient is not finite (the
// weights are then those of the step before, and the last checkpoint is named), a checkpoint cannot be written, or
// another rank has failed or gone.
TrainSummary train(const TrainJob& job, Log& log,
                   const std::shared_ptr<dist::ProcessGroup>& group = dist::world_of_one());

}  // namespace crope::train
