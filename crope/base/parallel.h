// Loops that several threads share: the one place where work is dealt to threads.
//
// The threads are those of OpenMP, which are LibTorch's own. A loop inside another one runs on the thread that meets
// it. An exception of any thread is thrown again by the loop.
#pragma once

#include <cstdint>
#include <functional>

namespace crope {

// Threads that a loop started here would use: 1 inside another loop.
int thread_count();

// Calls work(begin, end) on ranges that cover [0, count). A thread is only woken for `grain` items or more.
void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& work);

// parallel_ranges() for items that touch `cost` floats each: little work stays on one thread.
void parallel_rows(std::int64_t count, std::int64_t cost, const std::function<void(std::int64_t, std::int64_t)>& work);

// Calls work(chunk, begin, end) on `chunks` pieces of [0, count) that do not depend on the number of threads: nor does
// a sum over the pieces in their order. chunk_count proposes a number, at most kMostChunks.
inline constexpr std::int64_t kMostChunks = 16;
std::int64_t chunk_count(std::int64_t count, std::int64_t cost);
void parallel_chunks(std::int64_t count, std::int64_t chunks,
                     const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work);

// Calls work(item, worker) for every item of [0, count): each thread takes the next one when it is done. `worker` is
// below thread_count(), and no two threads have the same at a time.
void parallel_items(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work);

}  // namespace crope
