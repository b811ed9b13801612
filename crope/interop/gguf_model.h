// Models of GGUF files of the kinds that we write.
//
// llama.cpp's architecture qwen3 has QK-norm and rotates halves of a head, as Hugging Face does; its architecture llama
// has none and rotates adjacent pairs, as our disk does. A model of ours with QK-norm is the first, one without the
// second.
#pragma once

#include <filesystem>
#include <string>

#include "crope/formats/gguf.h"
#include "crope/interop/hf_layout.h"
#include "crope/model/transformer.h"

namespace crope::interop {

// "qwen3" or "llama". Throws Error if llama.cpp has none for it.
std::string gguf_architecture(const model::ModelConfig& config);

// The keys that describe the shape, below the name of the architecture.
formats::GgufMetadata gguf_shape_keys(const model::ModelConfig& config);

// A tensor of our disk layout, dense, as the file has it.
torch::Tensor to_gguf(const torch::Tensor& disk, const HfName& name, const model::ModelConfig& config);

// The file as the dense model that llama.cpp sees in it: shapes from its keys, weights in fp32.
// Throws Error naming the key or tensor that is missing, left over, of another shape or of a kind that cannot be held.
model::Transformer load_gguf_model(const std::filesystem::path& path);

}  // namespace crope::interop
