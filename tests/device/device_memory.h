// Memory of the test device: an address that the host must not touch, and host memory that stands for what is there.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

namespace crope::test {

// Fresh memory has no value that arithmetic takes for a number.
c10::Allocator& device_allocator();

// The numbers of a tensor of the device as a tensor of the CPU.
torch::Tensor host_alias(const torch::Tensor& x);

// A new tensor of the device with the numbers and strides of a tensor of the CPU.
torch::Tensor device_copy(const torch::Tensor& x);

}  // namespace crope::test
