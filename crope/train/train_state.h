// A checkpoint: a model directory with all else that a run needs to resume bit for bit.
#pragma once

#include <filesystem>

#include "crope/base/log.h"
#include "crope/dist/process_group.h"
#include "crope/model/transformer.h"
#include "crope/train/optimizer.h"
#include "crope/train/train_progress.h"

namespace crope::train {

// Writes the checkpoint of progress.step into the run directory: whole, or not at all. `tokenizer` is a tokenizer.json
// to put beside the model; may be empty. The ranks of a group write one checkpoint, each a part of the weights and the
// state that it holds, into a folder that they all see; its bytes do not depend on their number.
// `optimizer` may hold the state of conjugate-linear parts that `model` has lost; it is not saved.
// Throws Error, saying how much room was needed, when the disk is full, and naming a rank whose parameters are not
// those of the others.
void save_checkpoint(const std::filesystem::path& run, const model::Transformer& model, const Optimizer& optimizer,
                     const TrainProgress& progress, const std::filesystem::path& tokenizer, dist::ProcessGroup& group);
void save_checkpoint(const std::filesystem::path& run, const model::Transformer& model, const Optimizer& optimizer,
                     const TrainProgress& progress, const std::filesystem::path& tokenizer);

struct LoadedCheckpoint {
  model::Transformer model;  // owns its weights: nothing refers to the file any more
  TrainProgress progress;
};

// Throws Error naming the file if anything in the checkpoint is missing, damaged, or not as it was written. A signal
// ends it (Interrupted), also in the middle of a large file.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& checkpoint, Log& log,
                                 const torch::TensorOptions& options = {});

// Restores what the optimiser of that model holds on this rank, whatever the number of ranks that saved it. Throws
// Error naming the tensor that does not fit, and Interrupted after a signal.
void load_optimizer_state(const std::filesystem::path& checkpoint, Optimizer& optimizer);

}  // namespace crope::train
