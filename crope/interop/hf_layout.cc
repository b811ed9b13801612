#include "crope/interop/hf_layout.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "crope/base/error.h"

namespace crope::interop {
namespace {

using model::ModelConfig;
using torch::Tensor;

constexpr std::array<HfName, 11> kLayerNames = {{
    {"attention_norm", "input_layernorm", "attn_norm", HfRows::same},
    {"attention.q", "self_attn.q_proj", "attn_q", HfRows::heads},
    {"attention.k", "self_attn.k_proj", "attn_k", HfRows::heads},
    {"attention.v", "self_attn.v_proj", "attn_v", HfRows::same},
    {"attention.q_norm", "self_attn.q_norm", "attn_q_norm", HfRows::head_gain},
    {"attention.k_norm", "self_attn.k_norm", "attn_k_norm", HfRows::head_gain},
    {"attention.o", "self_attn.o_proj", "attn_output", HfRows::same},
    {"feed_forward_norm", "post_attention_layernorm", "ffn_norm", HfRows::same},
    {"feed_forward.gate", "mlp.gate_proj", "ffn_gate", HfRows::same},
    {"feed_forward.up", "mlp.up_proj", "ffn_up", HfRows::same},
    {"feed_forward.down", "mlp.down_proj", "ffn_down", HfRows::same},
}};

constexpr std::array<HfName, 3> kGlobalNames = {{
    {"embedding", "model.embed_tokens", "token_embd", HfRows::same},
    {"norm", "model.norm", "output_norm", HfRows::same},
    {"output", "lm_head", "output", HfRows::same},
}};

bool fills_up_heads(const ModelConfig& config) {
  return config.qk_width() != config.v_width();
}

double filled_gain_factor(const HfName& name) {
  return std::string_view(name.ours) == "attention.k_norm" ? std::sqrt(2.0) : 1.0;
}

// Heads whose rows the tensor holds, one after the other.
int64_t heads_of(const HfName& name, const ModelConfig& config) {
  if (name.rows != HfRows::heads) return 1;
  return std::string_view(name.ours) == "attention.k" ? config.kv_heads() : config.num_heads;
}

// [heads, K/2, 2, ...] of rows in adjacent pairs.
Tensor view_pairs(const Tensor& x, int64_t heads) {
  std::vector<int64_t> shape = {heads, x.size(0) / heads / 2, 2};
  for (int64_t d = 1; d < x.dim(); ++d) shape.push_back(x.size(d));
  return x.reshape(shape);
}

}  // namespace

std::span<const HfName> hf_layer_names() {
  return kLayerNames;
}

std::span<const HfName> hf_global_names() {
  return kGlobalNames;
}

std::string HfPlace::hf_name() const {
  return layer ? fmt::format("model.layers.{}.{}.weight", *layer, name->theirs)
               : fmt::format("{}.weight", name->theirs);
}

std::string HfPlace::gguf_name() const {
  return layer ? fmt::format("blk.{}.{}.weight", *layer, name->gguf) : fmt::format("{}.weight", name->gguf);
}

HfPlace hf_place(std::string_view parameter) {
  constexpr std::string_view kBlocks = "blocks.";
  std::string_view base = parameter.substr(0, parameter.rfind('.'));
  std::span<const HfName> names = kGlobalNames;
  HfPlace place{};
  if (base.starts_with(kBlocks)) {
    base.remove_prefix(kBlocks.size());
    names = kLayerNames;
    const auto number = std::from_chars(base.data(), base.data() + base.size(), place.layer.emplace());
    base.remove_prefix(std::min<std::size_t>(base.size(), number.ptr - base.data() + 1));
  }
  const auto row = std::ranges::find_if(names, [&](const HfName& each) { return base == each.ours; });
  if (row == names.end()) throw Error(fmt::format("[hf_place] no name for {}", parameter));
  place.name = &*row;
  return place;
}

std::vector<std::int64_t> hf_shape(const ModelConfig& config, const HfName& name) {
  const std::int64_t D = config.d_model, F = config.d_ff, V = config.vocab_size;
  const std::int64_t K = config.v_width();  // narrow Q and K are filled up to V's width
  const std::int64_t heads = config.num_heads * K, shared_heads = config.kv_heads() * K;
  const std::string_view ours = name.ours;
  if (ours == "embedding" || ours == "output") return {V, D};
  if (ours == "attention.q") return {heads, D};
  if (ours == "attention.k" || ours == "attention.v") return {shared_heads, D};
  if (ours == "attention.o") return {D, heads};
  if (ours == "attention.q_norm" || ours == "attention.k_norm") return {K};
  if (ours == "feed_forward.gate" || ours == "feed_forward.up") return {F, D};
  if (ours == "feed_forward.down") return {D, F};
  return {D};
}

Tensor to_hf(const Tensor& disk, const HfName& name, const ModelConfig& config) {
  if (name.rows == HfRows::same) return disk;
  const int64_t heads = heads_of(name, config);
  Tensor pairs = view_pairs(disk, heads);
  if (fills_up_heads(config)) {
    const Tensor copy = name.rows == HfRows::heads ? pairs : at::zeros_like(pairs);
    const Tensor original = name.rows == HfRows::heads ? pairs : pairs * filled_gain_factor(name);
    pairs = at::stack({original, copy}, 2).flatten(1, 2);  // pair i to 2i, its copy to 2i + 1
  }
  return pairs.transpose(1, 2).contiguous().flatten(0, 2);
}

Tensor from_hf(const Tensor& theirs, const HfName& name, const ModelConfig& config) {
  if (name.rows == HfRows::same) return theirs;
  const int64_t heads = heads_of(name, config);
  std::vector<int64_t> shape = {heads, 2, theirs.size(0) / heads / 2};
  for (int64_t d = 1; d < theirs.dim(); ++d) shape.push_back(theirs.size(d));
  Tensor pairs = theirs.reshape(shape).transpose(1, 2);
  if (fills_up_heads(config)) {
    const Tensor even = pairs.slice(1, 0, at::nullopt, 2), odd = pairs.slice(1, 1, at::nullopt, 2);
    const Tensor expected = name.rows == HfRows::heads ? even : at::zeros_like(even);
    if (!at::equal(odd, expected)) throw ChangedSinceExport{name.theirs};
    pairs = name.rows == HfRows::heads ? even : even / filled_gain_factor(name);
  }
  return pairs.contiguous().flatten(0, 2);
}

}  // namespace crope::interop
