#include "crope/ops/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>

#include "crope/ops/cpu/scratch.h"

namespace crope::ops {
namespace {

std::atomic<bool> is_installed = false;

void release(void* data) {
  if (data != nullptr && !cpu::shared_pool().release(data)) c10::free_cpu(data);
}

class PoolAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = bytes >= cpu::kSmallestPooledBlock ? cpu::shared_pool().allocate(bytes) : c10::alloc_cpu(bytes);
    c10::DeleterFnPtr deleter = bytes >= cpu::kSmallestPooledBlock ? &release : &c10::free_cpu;
    return {data, data, deleter, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void keep_tensor_memory() {
  static PoolAllocator allocator;
  if (is_installed.exchange(true)) return;
  // LibTorch registers its own with priority 0 and the others yield to the higher one.
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
}

TensorMemoryStats tensor_memory_stats() {
  if (!is_installed) return {};
  const auto [in_use, peak_in_use, reserved] = cpu::shared_pool().stats();
  return {in_use, peak_in_use, reserved};
}

void restart_tensor_memory_peak() {
  cpu::shared_pool().restart_peak();
}

}  // namespace crope::ops
