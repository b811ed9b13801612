// A device that stands in for a GPU: tensors on it have addresses that the host cannot read or write, operations reach
// it one by one and are counted, and an operation whose tensors are on two devices fails.
//
// Its kernels are those of the CPU, on memory of the host behind each address. What a CUDA build of ATen has as one
// kernel is one here: fused RMSNorm and attention, the _foreach family, fused AdamW.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace crope::test {

torch::Device test_device();

// What has reached the device.
struct Traffic {
  std::int64_t launches = 0;      // operations that compute or copy on the device; views and allocations do not count
  std::int64_t readings = 0;      // numbers and tensors read back by the host, which waits for all work before
  std::int64_t uploads = 0;       // tensors copied from the host
  std::int64_t passed_bytes = 0;  // read and written by launches other than products and attention
  std::map<std::string, std::int64_t> by_name;     // of the launches
  std::map<const void*, std::int64_t> casts_from;  // copies that change the type, by the memory they read (memory_of)
};

// Since the last call of reset_traffic.
Traffic traffic();
void reset_traffic();

// The memory that views of a tensor share.
const void* memory_of(const torch::Tensor& x);

// The most frequent launches, a line each.
std::string describe(const Traffic& traffic);

}  // namespace crope::test
