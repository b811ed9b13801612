#include "crope/model/config.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "crope/base/error.h"

namespace crope::model {
namespace {

// Sizes above this are mistakes, and products of three of them still fit 128 bits.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
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

template <typename T>
T read_field(const Json& json, const char* name, std::string_view origin) {
  const auto field = json.find(name);
  if (field == json.end()) {
    throw Error(fmt::format("{}: the field '{}' is missing", origin, name),
                "a model directory's config.json has the fields listed in docs/formats.md");
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (!field->is_number())
      throw Error(fmt::format("{}: {}: expected a number, found {}", origin, name, field->dump()));
  } else {
    const bool fits = field->is_number_integer() &&
                      !(field->is_number_unsigned() &&
                        field->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max()));
    if (!fits) throw Error(fmt::format("{}: {}: expected a whole number, found {}", origin, name, field->dump()));
  }
  return field->get<T>();
}

}  // namespace

void validate(const ModelConfig& config) {
  visit_fields(config, [](const char* name, const auto& value) { check_field(name, value); });
  if (config.d_model % config.num_heads != 0) {
    fail(fmt::format("num_heads = {} does not divide d_model = {}", config.num_heads, config.d_model));
  }
  const std::string_view variant = traits(config.variant).name;
  for (const std::int64_t width : {config.qk_width(), config.v_width()}) {
    if (width % 2 != 0) {
      fail(fmt::format("variant {} with d_model = {} and num_heads = {} has heads {} wide; RoPE rotates pairs", variant,
                       config.d_model, config.num_heads, width),
           "choose d_model / num_heads divisible by 2, and by 4 for the half-width variants");
    }
  }
  if (config.d_model / config.num_heads % (traits(config.variant).halves_qk ? 4 : 2) != 0) {
    fail(fmt::format("variant {} needs d_model / num_heads = {} / {} to be divisible by {}", variant, config.d_model,
                     config.num_heads, traits(config.variant).halves_qk ? 4 : 2));
  }
  const auto wide = [](std::int64_t n) { return static_cast<__int128>(n); };
  const __int128 per_layer = wide(config.d_model) * (4 * wide(config.d_model) + 3 * wide(config.d_ff));
  const __int128 parameters = wide(config.vocab_size) * config.d_model + per_layer * config.num_layers;
  if (parameters > kMostParameters) fail("more than 2^46 parameters");
}

ModelConfig config_from_json(const Json& json, std::string_view origin) {
  if (!json.is_object()) throw Error(fmt::format("{}: expected a JSON object, found {}", origin, json.type_name()));
  ModelConfig config;
  config.other_keys = json;
  visit_fields(config, [&](const char* name, auto& value) {
    value = read_field<std::remove_reference_t<decltype(value)>>(json, name, origin);
    config.other_keys.erase(name);
  });
  const auto variant = json.find("variant");
  if (variant == json.end() || !variant->is_string()) {
    throw Error(fmt::format("{}: the field 'variant' should be one of the six names", origin));
  }
  config.other_keys.erase("variant");
  try {
    config.variant = variant_by_name(variant->get<std::string>());
    validate(config);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
  }
  return config;
}

Json config_to_json(const ModelConfig& config) {
  Json json = Json::object();
  visit_fields(config, [&](const char* name, const auto& value) { json[name] = value; });
  json["variant"] = traits(config.variant).name;
  for (const auto& [key, value] : config.other_keys.items()) json[key] = value;
  return json;
}

}  // namespace crope::model
