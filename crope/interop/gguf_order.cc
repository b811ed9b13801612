#include "crope/interop/gguf_order.h"

#include <array>
#include <string_view>

#include "crope/interop/gguf_model.h"
#include "crope/model/pair_layout.h"

namespace crope::interop {
namespace {

using formats::GgmlType;
using model::ModelConfig;
using ops::WeightType;
using torch::Tensor;

constexpr std::array<int, 1> kRows = {0};

bool is_named(const HfName& name, std::string_view ours) {
  return name.ours == ours;
}

// [.., 2, heads, n] <-> [.., heads, 2, n] along a dimension.
Tensor swap_halves_and_heads(const Tensor& x, int64_t dimension, int64_t first, int64_t second) {
  const int64_t rest = x.size(dimension) / (first * second);
  return x.unflatten(dimension, {first, second, rest})
      .transpose(dimension, dimension + 1)
      .flatten(dimension, dimension + 2)
      .contiguous();
}

Tensor halves_within_heads(const Tensor& x, int64_t dimension, int64_t heads) {
  return swap_halves_and_heads(x, dimension, 2, heads);
}

Tensor halves_over_heads(const Tensor& x, int64_t dimension, int64_t heads) {
  return swap_halves_and_heads(x, dimension, heads, 2);
}

}  // namespace

std::optional<WeightType> weight_type_of(GgmlType type) {
  if (type == GgmlType::q8_0) return WeightType::int8;
  if (type == GgmlType::q4_0) return WeightType::int4;
  if (type == GgmlType::q4_1) return WeightType::int4_min;
  return std::nullopt;
}

bool keeps_columns(const HfName& name) {
  return !is_named(name, "attention.o");
}

bool keeps_blocks(const HfName& name, const ModelConfig& config) {
  return keeps_columns(name) || config.v_width() / 2 % ops::kQuantisedBlock == 0;
}

Tensor to_gguf_halves(const Tensor& memory, const HfName& name, const ModelConfig& config) {
  if (name.rows != HfRows::same) return to_gguf(model::halves_to_pairs(memory, kRows), name, config);
  if (is_named(name, "attention.v")) return halves_within_heads(memory, 0, config.kv_heads());
  if (is_named(name, "attention.o")) return halves_within_heads(memory, 1, config.num_heads);
  return memory;
}

Tensor from_gguf_halves(const Tensor& theirs, const HfName& name, const ModelConfig& config) {
  if (name.rows != HfRows::same) {
    return model::pairs_to_halves(config.qk_norm ? from_hf(theirs, name, config) : theirs.contiguous(), kRows);
  }
  if (is_named(name, "attention.v")) return halves_over_heads(theirs, 0, config.kv_heads());
  if (is_named(name, "attention.o")) return halves_over_heads(theirs, 1, config.num_heads);
  return theirs;
}

}  // namespace crope::interop
