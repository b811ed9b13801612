// Tensors as the blocks of bytes that GGUF files hold.
#pragma once

#include <torch/types.h>

#include <string_view>

#include "crope/formats/gguf.h"

namespace crope::interop {

// The bytes of an fp32 tensor, as a tensor of bytes. q8_0 and q4_0 round as ggml does: bit for bit what its own
// quantiser gives. REQUIRES: the type is f32, f16, bf16, q8_0 or q4_0; for the last two the last dimension is a
// multiple of 32.
torch::Tensor encode_ggml(const torch::Tensor& values, formats::GgmlType type);

// The fp32 tensor that a file's bytes stand for. A copy. Throws Error, starting with `origin` and naming the tensor, if
// a scale is not finite.
torch::Tensor decode_ggml(const formats::GgufTensor& tensor, std::string_view origin);

}  // namespace crope::interop
