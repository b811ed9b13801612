// Where the memory of CPU tensors comes from.
#pragma once

#include <cstddef>

namespace crope::ops {

// From this call on, large CPU tensors of this process live in blocks that are kept and reused (cpu/block_pool.h). For
// programs, at their start: it holds for all threads until the process ends. Calling it again changes nothing.
void keep_tensor_memory();

struct TensorMemoryStats {
  std::size_t in_use = 0;       // bytes of large tensors and of the kernels' working memory
  std::size_t peak_in_use = 0;  // the most there ever were
  std::size_t reserved = 0;     // bytes taken from the system
};

// Zeros before keep_tensor_memory().
TensorMemoryStats tensor_memory_stats();

// Resets the peak to the memory in use now.
void restart_tensor_memory_peak();

}  // namespace crope::ops
