// How many rows a GPU takes at a time, from the memory that is free on it.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>

#include "crope/train/train_job.h"

namespace crope::train {

// Bytes that computing gradients takes at most off the CPU, besides weights, gradients and optimiser state
// (training_bytes): the weights as products read them, and for each of `rows` rows what the backward pass keeps.
double gradient_bytes(const model::ModelConfig& model, const TrainConfig& config, std::int64_t rows);

// Rows, 1 to `most`, whose micro-batch fits in `free` bytes beside everything else that one of `ranks` ranks holds; a
// sixth stays free for the allocator. The pieces of `most` rows are of nearly one size.
std::int64_t fitting_rows(const model::ModelConfig& model, const TrainConfig& config, std::int64_t most, double free,
                          int ranks = 1);

// Free bytes of a device other than the CPU, or nothing if LibTorch cannot tell.
std::optional<std::uint64_t> free_device_memory(torch::Device device);

// The micro-batch of a job that leaves it open: 2,048 tokens on the CPU, where more only takes memory, and where the
// free memory is not known; else what fits. REQUIRES: the job's device and precision are resolved.
std::int64_t choose_micro_batch(const TrainJob& job);

}  // namespace crope::train
