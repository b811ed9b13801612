// The model that a run begins with.
#pragma once

#include "crope/base/log.h"
#include "crope/model/transformer.h"
#include "crope/train/train_job.h"

namespace crope::train {

// A random model of the job's shape and seed, or the weights of job.init_from. Owns its tensors, on the job's device.
model::Transformer make_starting_model(const TrainJob& job, Log& log);

// A model with the same values in memory of its own, not mapped from a file: an update would copy it page by page.
model::Transformer owned_copy(const model::Transformer& model);

}  // namespace crope::train
