// The shape of a model as keys of a GGUF file.
//
// llama.cpp's architecture qwen3 has QK-norm and rotates halves of a head, as Hugging Face does; its architecture llama
// has none and rotates adjacent pairs, as our disk does. A model of ours with QK-norm is the first, one without the
// second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crope/formats/gguf.h"
#include "crope/model/config.h"

namespace crope::interop {

// Frequencies of llama3's scaling stand in this tensor [K/2]: pair j turns by theta_j / factor_j.
inline constexpr const char* kGgufRopeFactors = "rope_freqs.weight";

// "qwen3" or "llama". Throws Error if llama.cpp has none for it.
std::string gguf_architecture(const model::ModelConfig& config);

// The keys below the name of the architecture. Throws Error if llama.cpp cannot hold the model's rope scaling.
formats::GgufMetadata gguf_shape_keys(const model::ModelConfig& config);

// The values of kGgufRopeFactors; empty where the model needs none.
std::vector<float> gguf_rope_factors(const model::ModelConfig& config);

// The file's model, dense. `vocab_size` are the rows of its embedding, `tied` whether it has no output projection.
// `rope_factors` are the values of kGgufRopeFactors, empty without.
// Throws Error naming the architecture or key that is missing, impossible or not supported.
struct GgufShape {
  std::int64_t vocab_size;
  bool tied;
  std::vector<float> rope_factors;
};
model::ModelConfig read_gguf_config(const formats::GgufFile& file, const GgufShape& shape);

}  // namespace crope::interop
