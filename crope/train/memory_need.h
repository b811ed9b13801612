// The memory that training a model takes at least, known before any of it is taken.
#pragma once

#include "crope/train/train_job.h"

namespace crope::train {

// Bytes of weights, gradients and optimiser state on one of `ranks` ranks. What a step computes on its way comes on
// top.
double training_bytes(const model::ModelConfig& model, int ranks = 1);

// Throws Error "training ... needs about 1.60 TB for weights, gradients and optimiser state; 22.00 GB are free".
// Does nothing where the model is not in the memory of this machine.
void require_training_memory(const TrainJob& job);

}  // namespace crope::train
