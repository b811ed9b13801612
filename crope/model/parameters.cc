#include "crope/model/parameters.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <span>

namespace crope::model {
namespace {

// How a matrix is held.
enum class Form {
  dense,
  tied,      // a pair
  annealed,  // a pair and its conjugate-linear companion
};

// One matrix [out, in] of attention or feed-forward.
struct MatrixRow {
  const char* name;
  std::int64_t out, in;
  Component component;
  Form form;
  std::vector<int> paired_dimensions;
};

void append_matrix(std::vector<ParameterSpec>& specs, const std::string& prefix, const MatrixRow& row) {
  const std::string name = prefix + row.name;
  if (row.form == Form::dense) {
    specs.push_back({name + ".weight", {row.out, row.in}, row.component, Role::matrix, row.paired_dimensions});
    return;
  }
  const std::vector<std::int64_t> shape = {row.out / 2, row.in / 2};
  specs.push_back({name + ".a", shape, row.component, Role::pair_a, {}});
  specs.push_back({name + ".b", shape, row.component, Role::pair_b, {}});
  if (row.form == Form::tied) return;
  specs.push_back({name + ".conjugate_a", shape, row.component, Role::pair_a, {}});
  specs.push_back({name + ".conjugate_b", shape, row.component, Role::pair_b, {}});
}

void append_gain(std::vector<ParameterSpec>& specs, const std::string& name, std::int64_t width, Gain gain) {
  if (gain == Gain::free) specs.push_back({name + ".weight", {width}, Component::norm, Role::gain, {0}});
  if (gain == Gain::pair) specs.push_back({name + ".weight", {width / 2}, Component::norm, Role::gain, {}});
}

void append_block(std::vector<ParameterSpec>& specs, const ModelConfig& config, std::int64_t layer) {
  const VariantTraits& variant = traits(config.variant);
  const auto form = [&](bool ties) {
    return !ties ? Form::dense : config.conjugate_scale ? Form::annealed : Form::tied;
  };
  const std::int64_t D = config.d_model, F = config.d_ff;
  const std::int64_t H = config.num_heads, G = config.kv_heads(), K = config.qk_width(), Kv = config.v_width();
  const std::string prefix = fmt::format("blocks.{}.", layer);
  append_gain(specs, prefix + "attention_norm", D, config.norm_gain);
  append_matrix(specs, prefix, {"attention.q", H * K, D, Component::attention, form(variant.ties_qk), {0, 1}});
  append_matrix(specs, prefix, {"attention.k", G * K, D, Component::attention, form(variant.ties_qk), {0, 1}});
  append_matrix(specs, prefix, {"attention.v", G * Kv, D, Component::attention, form(variant.ties_v), {0, 1}});
  if (config.qk_norm) {
    append_gain(specs, prefix + "attention.q_norm", K, config.qk_gain);
    append_gain(specs, prefix + "attention.k_norm", K, config.qk_gain);
  }
  append_matrix(specs, prefix, {"attention.o", D, H * Kv, Component::attention, form(variant.ties_o), {0, 1}});
  append_gain(specs, prefix + "feed_forward_norm", D, config.norm_gain);
  append_matrix(specs, prefix, {"feed_forward.gate", F, D, Component::feed_forward, Form::dense, {1}});
  append_matrix(specs, prefix, {"feed_forward.up", F, D, Component::feed_forward, Form::dense, {1}});
  append_matrix(specs, prefix, {"feed_forward.down", D, F, Component::feed_forward, Form::dense, {0}});
}

void add_counts(std::span<const ParameterSpec> specs, std::int64_t times, ParameterCounts* counts) {
  for (const ParameterSpec& spec : specs) {
    switch (spec.component) {
      case Component::embedding:
        counts->embedding += times * spec.size();
        break;
      case Component::attention:
        counts->attention += times * spec.size();
        break;
      case Component::feed_forward:
        counts->feed_forward += times * spec.size();
        break;
      case Component::norm:
        counts->norm += times * spec.size();
        break;
    }
  }
}

}  // namespace

std::int64_t ParameterSpec::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t ParameterSpec::fan_in() const {
  const bool is_pair = role == Role::pair_a || role == Role::pair_b;
  return is_pair ? 2 * shape.back() : shape.back();
}

bool is_conjugate(std::string_view parameter) {
  return parameter.ends_with(".conjugate_a") || parameter.ends_with(".conjugate_b");
}

std::vector<ParameterSpec> parameter_specs(const ModelConfig& config) {
  std::vector<ParameterSpec> specs;
  specs.push_back(
      {"embedding.weight", {config.vocab_size, config.d_model}, Component::embedding, Role::embedding, {1}});
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) append_block(specs, config, layer);
  append_gain(specs, "norm", config.d_model, config.norm_gain);
  if (!config.tie_embeddings) {
    specs.push_back({"output.weight", {config.vocab_size, config.d_model}, Component::embedding, Role::embedding, {1}});
  }
  return specs;
}

ParameterCounts count_parameters(const ModelConfig& config) {
  ParameterCounts counts;
  std::vector<ParameterSpec> block;
  append_block(block, config, 0);
  add_counts(block, config.num_layers, &counts);
  ModelConfig no_blocks = config;
  no_blocks.num_layers = 0;
  add_counts(parameter_specs(no_blocks), 1, &counts);
  return counts;
}

double attention_saving(const ModelConfig& config) {
  ModelConfig dense = config;
  dense.variant = Variant::rope;
  return 1.0 - static_cast<double>(count_parameters(config).attention) /
                   static_cast<double>(count_parameters(dense).attention);
}

}  // namespace crope::model
