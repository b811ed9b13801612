// Where Hugging Face keeps each tensor, and how its rows are ordered there; and what GGUF files call it.
//
// Hugging Face rotates coordinates (j, j + K/2) of a head: halves within each head of Q and K, and in their norms. All
// other widths may be in any order that is consistent; there they are the paper's adjacent pairs, as on our disk.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/model/config.h"

namespace crope::interop {

enum class HfRows {
  same,       // as on our disk
  heads,      // of Q and K: halves within each head
  head_gain,  // of their norms: halves
};

struct HfName {
  const char* ours;    // "attention.q", without the suffix .weight, .a or .b; below "blocks.N." unless global
  const char* theirs;  // "self_attn.q_proj", below "model.layers.N." unless global
  const char* gguf;    // "attn_q", below "blk.N." unless global
  HfRows rows;
};

// Tensors of one layer, and of the model.
std::span<const HfName> hf_layer_names();
std::span<const HfName> hf_global_names();

// A tensor of a model: its row of the table, and its layer unless it is global.
struct HfPlace {
  const HfName* name;
  std::optional<std::int64_t> layer;

  std::string hf_name() const;    // "model.layers.3.self_attn.q_proj.weight"
  std::string gguf_name() const;  // "blk.3.attn_q.weight"
};

// The place of the parameter "blocks.3.attention.q.weight", or ".a", or ".b". Throws Error if the table has none.
HfPlace hf_place(std::string_view parameter);

// The shape that the tensor has there.
std::vector<std::int64_t> hf_shape(const model::ModelConfig& config, const HfName& name);

// A tensor of our disk layout, dense, as Hugging Face has it. Heads of half_rope_qk, whose Q and K are half as wide as
// V, are filled up: Qwen3 has one width. Pair i becomes pair 2i, which has its frequency; a copy of it becomes pair 2i
// + 1, so that the norm sees the same mean square, and has a gain of zero, so that nothing else does. The scores' scale
// 1/sqrt(2K) instead of 1/sqrt(K) is made good by sqrt(2) in the gain of the keys.
torch::Tensor to_hf(const torch::Tensor& disk, const HfName& name, const model::ModelConfig& config);

// Thrown when weights that a variant ties or fills up are no longer so: someone has trained the export.
struct ChangedSinceExport {
  std::string name;
};

// The inverse. Throws ChangedSinceExport if heads that should be filled up are not.
torch::Tensor from_hf(const torch::Tensor& theirs, const HfName& name, const model::ModelConfig& config);

}  // namespace crope::interop
