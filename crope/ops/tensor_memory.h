// Where the memory of CPU tensors comes from.
#pragma once

#include "crope/ops/cpu/block_pool.h"

namespace crope::ops {

// From now on the large CPU tensors of this process live in blocks that are kept and reused (cpu/block_pool.h). For
// programs, at their start: it holds for all threads until the process ends. Calling it again changes nothing.
void keep_tensor_memory();

// Of the large tensors made since keep_tensor_memory(); zeros before.
cpu::BlockPoolStats tensor_memory_stats();

// The peak counts anew from what is in use now.
void restart_tensor_memory_peak();

}  // namespace crope::ops
