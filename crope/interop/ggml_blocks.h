// Tensors as the blocks of bytes that GGUF files hold.
#pragma once

#include <torch/types.h>

#include <span>

#include "crope/formats/gguf.h"

namespace crope::interop {

// The bytes of an fp32 tensor, as a tensor of bytes. q8_0 rounds as ggml does: bit for bit what its own quantiser
// gives. REQUIRES: for q8_0 the last dimension is a multiple of 32.
torch::Tensor encode_ggml(const torch::Tensor& values, formats::GgmlType type);

// The fp32 tensor that a file's bytes stand for. A copy.
torch::Tensor decode_ggml(const formats::GgufTensor& tensor);

}  // namespace crope::interop
