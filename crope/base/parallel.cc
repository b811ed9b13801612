#include "crope/base/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "crope/base/rounding.h"

namespace crope {
namespace {

constexpr std::int64_t kFloatsPerTask = 16384;

// Calls work(worker) on `workers` threads. The number of OpenMP's threads stays as it is: GNU's library makes and ends
// threads whenever it changes.
void invoke_parallel(std::int64_t workers, const std::function<void(std::int64_t)>& work) {
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr error;
#pragma omp parallel
  {
    // Where the system grants fewer threads than were expected, each takes several workers' parts.
    for (std::int64_t worker = omp_get_thread_num(); worker < workers; worker += omp_get_num_threads()) {
      try {
        work(worker);
      } catch (...) {
        if (!failed.test_and_set()) error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

int thread_count() {
  return omp_in_parallel() ? 1 : omp_get_max_threads();
}

void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (count <= 0) return;
  const std::int64_t workers =
      std::min<std::int64_t>(thread_count(), divide_up(count, std::max<std::int64_t>(1, grain)));
  if (workers == 1) return work(0, count);
  const std::int64_t size = divide_up(count, workers);
  invoke_parallel(workers, [&](std::int64_t worker) {
    const std::int64_t begin = worker * size;
    if (begin < count) work(begin, std::min(count, begin + size));
  });
}

void parallel_rows(std::int64_t count, std::int64_t cost, const std::function<void(std::int64_t, std::int64_t)>& work) {
  parallel_ranges(count, kFloatsPerTask / std::max<std::int64_t>(1, cost), work);
}

std::int64_t chunk_count(std::int64_t count, std::int64_t cost) {
  return std::clamp<std::int64_t>(count * cost / kFloatsPerTask, 1, std::min(count, kMostChunks));
}

void parallel_chunks(std::int64_t count, std::int64_t chunks,
                     const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work) {
  parallel_ranges(chunks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      work(chunk, chunk * count / chunks, (chunk + 1) * count / chunks);
    }
  });
}

void parallel_items(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  const auto take_items = [&](std::int64_t worker) {
    for (std::int64_t item = next++; item < count; item = next++) work(item, worker);
  };
  const std::int64_t workers = std::min<std::int64_t>(count, thread_count());
  if (workers <= 1) return take_items(0);
  invoke_parallel(workers, take_items);
}

}  // namespace crope
