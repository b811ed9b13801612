// Memory of the test device: an address that the host must not touch, and host memory that stands for what is there.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>

namespace crope::test {

// What the device says it has.
constexpr std::size_t kDeviceBytes = std::size_t{1} << 30;

// Fresh memory has no value that arithmetic takes for a number.
c10::Allocator& device_allocator();

// Bytes of all tensors on the device at one time, at most, since the last call of restart_peak; and now.
std::int64_t peak_bytes();
std::int64_t bytes_in_use();
void restart_peak();

// The numbers of a tensor of the device as a tensor of the CPU.
torch::Tensor host_alias(const torch::Tensor& x);

// A new tensor of the device with the numbers and strides of a tensor of the CPU.
torch::Tensor device_copy(const torch::Tensor& x);

}  // namespace crope::test
