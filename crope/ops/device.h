// Which device and type has which kernels, said in one place, and tensors as the memory that kernels see.
//
// An operation asks kernels_for its tensors and calls the slot that it finds, or takes its ATen path. A kernel for
// another device is a file of its own and a line in device.cc (docs/architecture.md).
#pragma once

#include <torch/types.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "crope/ops/kernels.h"

namespace crope::ops {

// The kernels for tensors that share a device and a type. An empty table where there are none: for tensors of several
// devices or types, sparse or empty ones, and everywhere with CROPE_FUSED=0. Without products where those of a BLAS are
// chosen (product_source.h). Undefined tensors do not count.
const Kernels& kernels_for(std::initializer_list<torch::Tensor> tensors);

// The kernels that inference runs on, which CROPE_FUSED does not switch off. `type` is that of the activations.
const Kernels& inference_kernels(torch::Device device, torch::ScalarType type);

// Whether work on x is planned for a device that takes its orders one by one: few and large operations of ATen, no
// number read back on the way. So off the CPU; on the CPU with CROPE_FUSED=0, where tests hold the plan against the
// other.
bool prefers_few_launches(const torch::Tensor& x);

// The instruction set of the CPU's kernels ("avx2", "avx512", "neon", …, "portable"), or nothing where CROPE_FUSED=0
// switches them off. Throws UsageError if the environment names a set that this machine does not have.
std::optional<std::string> cpu_instruction_set();

// x[..., N] as rows; a vector is one row; nothing of an undefined tensor.
// REQUIRES: fp32, neighbouring columns side by side, rows one distance apart.
ConstMatrix view(const torch::Tensor& x);
Matrix mutable_view(const torch::Tensor& x);

// All numbers of x as one row. REQUIRES: x is contiguous.
ConstMatrix flat_view(const torch::Tensor& x);
Matrix mutable_flat_view(const torch::Tensor& x);

// All numbers of an fp64 or int64 tensor as one row. REQUIRES: contiguous.
Doubles mutable_double_view(const torch::Tensor& x);
ConstIds id_view(const torch::Tensor& ids);

}  // namespace crope::ops
