// Working memory of a kernel for the time of one call.
#pragma once

#include <cstdint>

#include "crope/ops/cpu/block_pool.h"

namespace crope::ops::cpu {

// Blocks smaller than this come from malloc, which keeps them anyway; larger ones from shared_pool().
inline constexpr std::size_t kSmallestPooledBlock = std::size_t{256} << 10;

// The pool of this process, for kernels and (ops/tensor_memory) tensors. Never destroyed: tensors of static lifetime
// give their memory back after the end of main.
BlockPool& shared_pool();

// Uninitialised floats, aligned to 64 bytes.
class Scratch {
 public:
  explicit Scratch(std::int64_t floats);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* data() const { return data_; }

 private:
  float* data_;
  bool pooled_;
};

}  // namespace crope::ops::cpu
