// Estimates the time and memory of a run from a few real steps of it, which leave nothing on disk.
#pragma once

#include <cstdint>

#include "crope/base/log.h"
#include "crope/train/train_job.h"

namespace crope::train {

struct DryRun {
  std::int64_t parameters;
  std::uint64_t memory;  // peak of the process, in bytes
  double seconds_per_step;
  double optimizer_seconds;      // of these
  double total_seconds;          // of the whole run, with its validations
  double validation_seconds;     // of these
  std::uint64_t validated_rows;  // over all validations, other texts included
  double tokens_per_second;
  double gemm_share;  // of the measured GEMM peak, forward and backward
  std::uint64_t checkpoint_bytes;
};

// Throws Error where train() would at its start.
DryRun dry_run(const TrainJob& job, Log& log);

}  // namespace crope::train
