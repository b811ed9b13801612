// When an operation takes its fused kernel, and how rows are shared out among threads.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <initializer_list>

namespace crope::ops {

// Whether all of these are what the kernels of cpu/ work on: fp32 on the CPU, of at least one number, and fused kernels
// are not switched off. Undefined tensors do not count.
bool fused_for(std::initializer_list<torch::Tensor> tensors);

// Calls work(begin, end) on ranges that cover [0, count), in parallel. `cost` is the number of floats that one item
// touches: little work stays in one thread.
void parallel_rows(std::int64_t count, std::int64_t cost, const std::function<void(std::int64_t, std::int64_t)>& work);

// Calls work(chunk, begin, end) on pieces of [0, count) that depend on `count` and `cost` alone, in parallel: a sum
// over the pieces in their order is the same with any number of threads. At most kMostChunks pieces.
inline constexpr std::int64_t kMostChunks = 16;
std::int64_t chunk_count(std::int64_t count, std::int64_t cost);
void parallel_chunks(std::int64_t count, std::int64_t cost,
                     const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work);

// Calls work(item, worker) for every item of [0, count): each thread takes the next one when it is done. `worker` is
// below the number of threads, and no two threads have the same at a time.
void parallel_items(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work);

}  // namespace crope::ops
