// The shape of a model: what config.json holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crope/base/choice.h"
#include "crope/model/variant.h"
#include "crope/ops/rope_scaling.h"

namespace crope::model {

// The learnable gains of a norm.
enum class Gain {
  free,  // one per coordinate
  pair,  // one per complex pair
  none,
};

}  // namespace crope::model

template <>
struct crope::ChoiceNames<crope::model::Gain> {
  using Kind = model::Gain;
  static constexpr auto kNames = choice_names<Kind>({{Kind::free, "free"}, {Kind::pair, "pair"}, {Kind::none, "none"}});
};

namespace crope::model {

// The defaults are the paper's. It does not give a vocabulary: 50,304 is GPT-2's 50,257, rounded up to a multiple
// of 64.
struct ModelConfig {
  std::int64_t vocab_size = 50304;
  std::int64_t num_layers = 16;
  std::int64_t num_heads = 8;
  std::int64_t d_model = 1024;
  std::int64_t d_ff = 1024;
  double rope_theta = 5000;
  double norm_eps = 1e-6;
  std::int64_t max_seq_len = 512;
  Variant variant = Variant::rope;

  // Choices that the paper leaves open; in config.json only where they differ from these (docs/mathematics.md, section
  // 8).
  std::int64_t num_kv_heads = 0;        // heads of K and V, each read by as many heads of Q; 0 is num_heads
  std::int64_t head_dim = 0;            // width of a full head; 0 is d_model / num_heads
  Choice<Gain> qk_gain = Gain::free;    // gains of QK-norm
  Choice<Gain> norm_gain = Gain::free;  // gains of the other norms: free or pair

  // Properties of imported models alone; in config.json only where they differ from these.
  bool qk_norm = true;         // false: queries and keys are not normalised
  bool tie_embeddings = true;  // false: the output projection is a tensor of its own, output.weight
  ops::RopeScaling rope_scaling = {};

  // In an annealed model every tied projection also has a conjugate-linear part, which counts by this factor
  // (ops/annealed_weight.h). Nothing in other models.
  std::optional<double> conjugate_scale = {};

  // Keys of config.json that we do not know. Kept as they are.
  Json other_keys = Json::object();

  // Heads of K and V: query head h reads head h / (num_heads / kv_heads()).
  std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }

  // Width of a head of Q and K, and of V: what RoPE rotates, and what comes out of attention.
  std::int64_t full_head_width() const { return head_dim > 0 ? head_dim : d_model / num_heads; }
  std::int64_t qk_width() const { return full_head_width() / (traits(variant).halves_qk ? 2 : 1); }
  std::int64_t v_width() const { return full_head_width() / (traits(variant).halves_v ? 2 : 1); }
};

// Calls visit(name, member, help) for every field that config.json must have: one list for reading, writing and flags.
template <typename Config, typename Visit>
void visit_required_fields(Config& config, const Visit& visit) {
  visit("vocab_size", config.vocab_size, "Number of tokens in the vocabulary");
  visit("num_layers", config.num_layers, "Number of transformer blocks");
  visit("num_heads", config.num_heads, "Number of attention heads");
  visit("d_model", config.d_model, "Width of the residual stream");
  visit("d_ff", config.d_ff, "Width of the feed-forward layer");
  visit("rope_theta", config.rope_theta, "Base of the rotary frequencies");
  visit("norm_eps", config.norm_eps, "Epsilon of every RMSNorm");
  visit("max_seq_len", config.max_seq_len, "Longest sequence in tokens");
}

// Visits the fields that config.json holds only where they differ from their defaults.
template <typename Config, typename Visit>
void visit_optional_fields(Config& config, const Visit& visit) {
  visit("num_kv_heads", config.num_kv_heads, "Number of key/value heads, shared by groups of heads (0: num_heads)");
  visit("head_dim", config.head_dim, "Width of a full head (0: d_model / num_heads); the half_rope variants halve it");
  visit("qk_gain", config.qk_gain, "Gains of QK-norm: free (per coordinate), pair (per complex pair) or none");
  visit("norm_gain", config.norm_gain, "Gains of the other norms: free (per coordinate) or pair (per complex pair)");
}

// Both lists: every field that a flag or a recipe can set.
template <typename Config, typename Visit>
void visit_fields(Config& config, const Visit& visit) {
  visit_required_fields(config, visit);
  visit_optional_fields(config, visit);
}

// Throws UsageError naming the field unless a model of this shape can exist: positive sizes, heads that divide the
// width, key/value heads that divide the heads, an even width of every head, known kinds of gains, rope scaling with
// positive factors, a conjugate-linear part only beside tied projections, and a number of parameters that memory can
// address.
void validate(const ModelConfig& config);

// Reads and checks config.json. `origin` names the text in messages (a path). Throws Error on missing fields, wrong
// types and impossible values.
ModelConfig config_from_json(const Json& json, std::string_view origin);

Json config_to_json(const ModelConfig& config);

}  // namespace crope::model
