#include "crope/ops/cpu/scratch.h"

#include <algorithm>
#include <new>

namespace crope::ops::cpu {
namespace {

constexpr std::align_val_t kCacheLine{64};

}  // namespace

BlockPool& shared_pool() {
  static auto* pool = new BlockPool;
  return *pool;
}

Scratch::Scratch(std::int64_t floats) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(std::max<std::int64_t>(1, floats));
  pooled_ = bytes >= kSmallestPooledBlock;
  data_ = static_cast<float*>(pooled_ ? shared_pool().allocate(bytes) : ::operator new(bytes, kCacheLine));
}

Scratch::~Scratch() {
  if (pooled_) {
    shared_pool().release(data_);
  } else {
    ::operator delete(data_, kCacheLine);
  }
}

}  // namespace crope::ops::cpu
