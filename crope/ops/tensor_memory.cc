#include "crope/ops/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

namespace crope::ops {
namespace {

// Smaller tensors stay with malloc, which keeps them anyway.
constexpr std::size_t kSmallestBlock = std::size_t{256} << 10;

// Never destroyed: tensors of static lifetime give their memory back after the end of main.
cpu::BlockPool& pool() {
  static auto* pool = new cpu::BlockPool;
  return *pool;
}

void release(void* data) {
  if (data != nullptr && !pool().release(data)) c10::free_cpu(data);
}

class PoolAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = bytes >= kSmallestBlock ? pool().allocate(bytes) : c10::alloc_cpu(bytes);
    c10::DeleterFnPtr deleter = bytes >= kSmallestBlock ? &release : &c10::free_cpu;
    return {data, data, deleter, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void keep_tensor_memory() {
  static PoolAllocator allocator;
  static const bool installed = [] {
    // LibTorch registers its own with priority 0 and the others yield to the higher one.
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
    return true;
  }();
  (void)installed;
}

cpu::BlockPoolStats tensor_memory_stats() {
  return pool().stats();
}

void restart_tensor_memory_peak() {
  pool().restart_peak();
}

}  // namespace crope::ops
