#include "crope/ops/fused.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

#include "crope/ops/cpu/isa.h"

namespace crope::ops {
namespace {

constexpr std::int64_t kFloatsPerTask = 16384;

}  // namespace

bool fused_for(std::initializer_list<torch::Tensor> tensors) {
  return cpu::fused_kernels_enabled() && std::ranges::all_of(tensors, [](const torch::Tensor& x) {
           return !x.defined() ||
                  (x.is_cpu() && x.scalar_type() == torch::kFloat32 && x.layout() == at::kStrided && x.numel() > 0);
         });
}

void parallel_rows(std::int64_t count, std::int64_t cost, const std::function<void(std::int64_t, std::int64_t)>& work) {
  at::parallel_for(0, count, std::max<std::int64_t>(1, kFloatsPerTask / std::max<std::int64_t>(1, cost)), work);
}

std::int64_t chunk_count(std::int64_t count, std::int64_t cost) {
  return std::clamp<std::int64_t>(count * cost / kFloatsPerTask, 1, std::min(count, kMostChunks));
}

void parallel_chunks(std::int64_t count, std::int64_t cost,
                     const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work) {
  const std::int64_t chunks = chunk_count(count, cost);
  at::parallel_for(0, chunks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      work(chunk, chunk * count / chunks, (chunk + 1) * count / chunks);
    }
  });
}

void parallel_items(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  at::parallel_for(0, std::min<std::int64_t>(count, at::get_num_threads()), 1, [&](std::int64_t worker, std::int64_t) {
    for (std::int64_t item = next++; item < count; item = next++) work(item, worker);
  });
}

}  // namespace crope::ops
