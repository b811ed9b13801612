#include "crope/interop/ggml_blocks.h"

#include <ATen/ATen.h>

namespace crope::interop {
namespace {

using formats::GgmlType;
using torch::Tensor;

constexpr int64_t kScaleBytes = 2;

Tensor encode_q8_0(const Tensor& values) {
  const int64_t width = formats::ggml_block(GgmlType::q8_0).elements;
  const Tensor blocks = values.reshape({-1, width});
  const Tensor scale = blocks.abs().amax(1, /*keepdim=*/true) / 127;
  const Tensor scaled = blocks * at::where(scale == 0, at::zeros_like(scale), scale.reciprocal());
  // Halves are rounded away from zero, which at::round does not do.
  const Tensor size = scaled.abs(), whole = size.floor();
  const Tensor rounded = (whole + (2 * (size - whole)).floor()) * scaled.sign();
  return at::cat({scale.to(torch::kFloat16).view(torch::kUInt8), rounded.to(torch::kInt8).view(torch::kUInt8)}, 1);
}

Tensor decode_q8_0(const Tensor& bytes) {
  const formats::GgmlBlock block = formats::ggml_block(GgmlType::q8_0);
  const Tensor blocks = bytes.view({-1, block.bytes});
  const Tensor scale = blocks.narrow(1, 0, kScaleBytes).contiguous().view(torch::kFloat16).to(torch::kFloat32);
  const Tensor steps = blocks.narrow(1, kScaleBytes, block.elements).contiguous().view(torch::kInt8);
  return scale * steps.to(torch::kFloat32);
}

torch::ScalarType plain_type(GgmlType type) {
  if (type == GgmlType::f16) return torch::kFloat16;
  return type == GgmlType::bf16 ? torch::kBFloat16 : torch::kFloat32;
}

}  // namespace

Tensor encode_ggml(const Tensor& values, GgmlType type) {
  if (type == GgmlType::q8_0) return encode_q8_0(values).flatten();
  return values.contiguous().to(plain_type(type)).flatten().view(torch::kUInt8);
}

Tensor decode_ggml(const formats::GgufTensor& tensor) {
  const auto count = static_cast<int64_t>(tensor.bytes.size());
  const Tensor bytes = at::from_blob(tensor.bytes.data(), {count}, torch::TensorOptions().dtype(torch::kUInt8));
  const Tensor values = tensor.type == GgmlType::q8_0 ? decode_q8_0(bytes) : bytes.view(plain_type(tensor.type));
  return values.to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true).view(tensor.shape);
}

}  // namespace crope::interop
