#include "crope/ops/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "crope/ops/cpu/isa.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/product_source.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr Kernels kNoKernels;

template <typename Number>
MatrixView<Number> rows_of(Number* data, const Tensor& x) {
  const std::int64_t columns = x.dim() == 0 ? 1 : x.size(-1);
  const std::int64_t stride = x.dim() < 2 ? columns : std::max(x.stride(-2), columns);
  return {data, columns == 0 ? 0 : x.numel() / columns, columns, stride};
}

}  // namespace

const Kernels& kernels_for(std::initializer_list<Tensor> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor& x : tensors) {
    if (!x.defined()) continue;
    if (x.layout() != at::kStrided || x.numel() == 0) return kNoKernels;
    if (first == nullptr) first = &x;
    if (x.device() != first->device() || x.scalar_type() != first->scalar_type()) return kNoKernels;
  }
  if (first == nullptr || !cpu::fused_kernels_enabled()) return kNoKernels;
  const Kernels& kernels = inference_kernels(first->device(), first->scalar_type());
  const bool by_blas = &kernels == &cpu::kernels() && product_source(ProductUse::training) == ProductSource::blas;
  return by_blas ? cpu::kernels_without_products() : kernels;
}

const Kernels& inference_kernels(torch::Device device, torch::ScalarType type) {
  at::get_num_threads();  // LibTorch gives a new thread its number of OpenMP threads when it is first asked
  // The choice: one line for each device and type that has kernels.
  if (device.is_cpu() && type == torch::kFloat32) return cpu::kernels();
  return kNoKernels;
}

bool prefers_few_launches(const Tensor& x) {
  return !x.device().is_cpu() || !cpu::fused_kernels_enabled();
}

std::optional<std::string> cpu_instruction_set() {
  return cpu::fused_kernels_enabled() ? std::optional(cpu::instruction_set()) : std::nullopt;
}

ConstMatrix view(const Tensor& x) {
  return x.defined() ? rows_of(x.const_data_ptr<float>(), x) : ConstMatrix();
}

Matrix mutable_view(const Tensor& x) {
  return x.defined() ? rows_of(x.data_ptr<float>(), x) : Matrix();
}

ConstMatrix flat_view(const Tensor& x) {
  return {x.const_data_ptr<float>(), 1, x.numel(), x.numel()};
}

Matrix mutable_flat_view(const Tensor& x) {
  return {x.data_ptr<float>(), 1, x.numel(), x.numel()};
}

Doubles mutable_double_view(const Tensor& x) {
  return {x.data_ptr<double>(), 1, x.numel(), x.numel()};
}

ConstIds id_view(const Tensor& ids) {
  return {ids.const_data_ptr<std::int64_t>(), 1, ids.numel(), ids.numel()};
}

}  // namespace crope::ops
