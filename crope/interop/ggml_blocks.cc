#include "crope/interop/ggml_blocks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "crope/formats/ggml_decode.h"

namespace crope::interop {
namespace {

using formats::GgmlType;
using torch::Tensor;

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

// The weight of the largest size, with its sign, becomes -8. Sums in fp64 round as ggml's fused ones do.
Tensor encode_q4_0(const Tensor& values) {
  const int64_t width = formats::ggml_block(GgmlType::q4_0).elements;
  const Tensor blocks = values.reshape({-1, width});
  const Tensor largest = blocks.gather(1, blocks.abs().argmax(1, /*keepdim=*/true));
  const Tensor scale = largest / -8;
  const Tensor inverse = at::where(scale == 0, at::zeros_like(scale), scale.reciprocal());
  const Tensor levels = (blocks.to(torch::kFloat64) * inverse.to(torch::kFloat64) + 8.5).trunc().clamp(0, 15);
  const Tensor q = levels.to(torch::kUInt8);
  const Tensor bytes = q.narrow(1, 0, width / 2).bitwise_or(q.narrow(1, width / 2, width / 2).bitwise_left_shift(4));
  return at::cat({scale.to(torch::kFloat16).view(torch::kUInt8), bytes}, 1);
}

torch::ScalarType plain_type(GgmlType type) {
  if (type == GgmlType::f16) return torch::kFloat16;
  return type == GgmlType::bf16 ? torch::kBFloat16 : torch::kFloat32;
}

}  // namespace

Tensor encode_ggml(const Tensor& values, GgmlType type) {
  if (type == GgmlType::q8_0) return encode_q8_0(values).flatten();
  if (type == GgmlType::q4_0) return encode_q4_0(values).flatten();
  return values.contiguous().to(plain_type(type)).flatten().view(torch::kUInt8);
}

Tensor decode_ggml(const formats::GgufTensor& tensor, std::string_view origin) {
  const Tensor values = at::empty(tensor.shape, torch::kFloat32);
  const formats::GgmlBlock block = formats::ggml_block(tensor.type);
  const int64_t blocks = values.numel() / block.elements;
  float* out = values.mutable_data_ptr<float>();
  at::parallel_for(0, blocks, /*grain_size=*/4096, [&](int64_t begin, int64_t end) {
    const auto bytes = tensor.bytes.subspan(static_cast<std::size_t>(begin * block.bytes),
                                            static_cast<std::size_t>((end - begin) * block.bytes));
    formats::decode_ggml_blocks(
        tensor.type, bytes, {out + begin * block.elements, static_cast<std::size_t>((end - begin) * block.elements)},
        fmt::format("{}: tensor '{}', blocks from {} on", origin, tensor.name, begin));
  });
  return values;
}

}  // namespace crope::interop
