#include "crope/model/config.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "crope/base/error.h"
#include "crope/model/rope_scaling.h"
#include "crope/model/weight_type.h"

namespace crope::model {
namespace {

// Sizes above this are mistakes, and products of three of them still fit 128 bits.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr const char* kConjugateScaleKey = "conjugate_scale";
constexpr std::int64_t kMostLayers = 1 << 16;
constexpr std::int64_t kMostParameters = std::int64_t{1} << 46;

[[noreturn]] void fail(const std::string& message, const std::string& hint = {}) {
  throw UsageError("impossible model: " + message, hint);
}

void check_field(std::string_view name, std::int64_t value) {
  if (value < 1 || value > kLargestSize) {
    fail(fmt::format("{} = {}, expected a number from 1 to {}", name, value, kLargestSize));
  }
}

void check_field(std::string_view name, double value) {
  if (!std::isfinite(value) || value <= 0) fail(fmt::format("{} = {}, expected a positive number", name, value));
}

Json optional_fields(const ModelConfig& config) {
  Json fields = Json::object();
  visit_optional_fields(config, [&](const char* name, const auto& value, const char*) { fields[name] = value; });
  return fields;
}

// Takes the field out of `json` if it is there.
template <typename T>
void read_optional(Json& json, const char* name, T* value, std::string_view origin) {
  const auto field = json.find(name);
  if (field == json.end()) return;
  *value = setting_value<T>(*field, name, origin);
  json.erase(name);
}

}  // namespace

void validate(const ModelConfig& config) {
  visit_required_fields(config, [](const char* name, const auto& value, const char*) { check_field(name, value); });
  if (config.norm_gain == Gain::none) fail("norm_gain = none, expected free or pair");
  if (!config.qk_norm && config.qk_gain != Gain::free) {
    fail(fmt::format("qk_gain = {} in a model without QK-norm", config.qk_gain.name()), "set qk_norm to true");
  }
  if (config.num_layers > kMostLayers) {
    fail(fmt::format("num_layers = {}, expected a number from 1 to {}", config.num_layers, kMostLayers));
  }
  if (config.head_dim < 0 || config.head_dim > kLargestSize) {
    fail(fmt::format("head_dim = {}, expected a number from 1 to {}", config.head_dim, kLargestSize));
  }
  if (config.num_kv_heads < 0 || config.num_heads % config.kv_heads() != 0) {
    fail(fmt::format("num_kv_heads = {} does not divide num_heads = {}", config.num_kv_heads, config.num_heads));
  }
  if (config.head_dim == 0 && config.d_model % config.num_heads != 0) {
    std::int64_t nearest = config.num_heads;
    while (config.d_model % nearest != 0) --nearest;  // ends at 1
    fail(fmt::format("num_heads must divide d_model (got {} and {})", config.num_heads, config.d_model),
         fmt::format("try {}, or set head_dim", nearest));
  }
  const std::int64_t divisor = traits(config.variant).halves_qk ? 4 : 2;
  if (config.full_head_width() % divisor != 0) {
    fail(fmt::format("variant {} with d_model = {} and num_heads = {} has heads {} wide, which {} does not divide",
                     traits(config.variant).name, config.d_model, config.num_heads, config.full_head_width(), divisor),
         "RoPE rotates pairs: a head needs an even width, and twice that where it is halved");
  }
  if (config.d_model % 2 != 0) fail(fmt::format("d_model = {} is odd; its features are pairs", config.d_model));
  check_rope_scaling(config.rope_scaling);
  if (config.conjugate_scale && !std::isfinite(*config.conjugate_scale)) {
    fail(fmt::format("conjugate_scale = {}, expected a finite number", *config.conjugate_scale));
  }
  if (config.conjugate_scale && !traits(config.variant).ties_qk) {
    fail(fmt::format("conjugate_scale = {} with variant {}, which has no tied projections", *config.conjugate_scale,
                     traits(config.variant).name),
         "remove conjugate_scale, or give variant crope_qk, crope_qkv or crope_all");
  }
  const auto wide = [](std::int64_t n) { return static_cast<__int128>(n); };
  const __int128 heads = wide(config.num_heads) * config.full_head_width();
  const __int128 per_layer = wide(config.d_model) * (4 * heads + 3 * wide(config.d_ff));
  const __int128 parameters = 2 * wide(config.vocab_size) * config.d_model + per_layer * config.num_layers;
  if (parameters > kMostParameters) fail("more than 2^46 parameters");
}

ModelConfig config_from_json(const Json& json, std::string_view origin) {
  const JsonFields fields(json, std::string(origin),
                          json.contains("architectures")
                              ? "this looks like a Hugging Face model: import it with 'crope import'"
                              : "docs/formats.md lists the fields of a model directory's config.json");
  ModelConfig config;
  config.other_keys = json;
  visit_required_fields(config, [&](const char* name, auto& value, const char*) {
    value = fields.get<std::remove_reference_t<decltype(value)>>(name);
    config.other_keys.erase(name);
  });
  const auto variant = fields.get<std::string>("variant");
  config.other_keys.erase("variant");
  visit_optional_fields(config, [&](const char* name, auto& value, const char*) {
    read_optional(config.other_keys, name, &value, origin);
  });
  read_optional(config.other_keys, "qk_norm", &config.qk_norm, origin);
  read_optional(config.other_keys, "tie_embeddings", &config.tie_embeddings, origin);
  if (fields.find(kConjugateScaleKey) != nullptr) config.conjugate_scale = fields.get<double>(kConjugateScaleKey);
  config.other_keys.erase(kConjugateScaleKey);
  if (const Json* scaling = fields.find(kRopeScalingKey)) {
    config.rope_scaling = rope_scaling_from_json(*scaling, fmt::format("{}: {}", origin, kRopeScalingKey));
  }
  config.other_keys.erase(kRopeScalingKey);
  recorded_weight_type(json, origin);  // checked; it is the file's, not the model's
  config.other_keys.erase(kWeightsKey);
  try {
    config.variant = variant_by_name(variant);
    validate(config);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
  }
  return config;
}

Json config_to_json(const ModelConfig& config) {
  Json json = Json::object();
  visit_required_fields(config, [&](const char* name, const auto& value, const char*) { json[name] = value; });
  json["variant"] = traits(config.variant).name;
  const Json defaults = optional_fields(ModelConfig{}), chosen = optional_fields(config);
  for (const auto& [name, value] : chosen.items()) {
    if (value != defaults[name]) json[name] = value;
  }
  if (!config.qk_norm) json["qk_norm"] = false;
  if (!config.tie_embeddings) json["tie_embeddings"] = false;
  if (config.conjugate_scale) json[kConjugateScaleKey] = *config.conjugate_scale;
  if (config.rope_scaling != ops::RopeScaling{}) json[kRopeScalingKey] = rope_scaling_to_json(config.rope_scaling);
  for (const auto& [key, value] : config.other_keys.items()) json[key] = value;
  return json;
}

}  // namespace crope::model
