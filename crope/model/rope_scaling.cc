#include "crope/model/rope_scaling.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "crope/base/error.h"

namespace crope::model {
namespace {

using ops::RopeScaling;
using ops::RopeStretch;

constexpr std::int64_t kLongestOriginal = std::int64_t{1} << 31;

// Hugging Face derives yarn's attention factor from these two where both are given.
double mscale_factor(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

void check_positive(const char* field, double value) {
  if (std::isfinite(value) && value > 0) return;
  throw UsageError(fmt::format("impossible rope scaling: {} = {}, expected a positive number", field, value));
}

}  // namespace

void check_rope_scaling(const RopeScaling& scaling) {
  check_positive("factor", scaling.factor);
  if (scaling.original_length < 0 || scaling.original_length > kLongestOriginal) {
    throw UsageError(fmt::format("impossible rope scaling: original_max_position_embeddings = {}, expected 1 to {}",
                                 scaling.original_length, kLongestOriginal));
  }
  if (scaling.type == RopeStretch::yarn) {
    check_positive("beta_fast", scaling.beta_fast);
    check_positive("beta_slow", scaling.beta_slow);
    if (scaling.attention_factor != 0) check_positive("attention_factor", scaling.attention_factor);
  }
  if (scaling.type == RopeStretch::llama3) {
    check_positive("low_freq_factor", scaling.low_freq_factor);
    check_positive("high_freq_factor", scaling.high_freq_factor);
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      throw UsageError(fmt::format("impossible rope scaling: high_freq_factor = {} is not above low_freq_factor = {}",
                                   scaling.high_freq_factor, scaling.low_freq_factor));
    }
  }
}

RopeScaling rope_scaling_from_json(const Json& json, const std::string& origin) {
  const JsonFields fields(json, origin, "docs/formats.md lists the kinds of rope_scaling");
  RopeScaling scaling;
  const char* type_field = fields.find("rope_type") != nullptr ? "rope_type" : "type";
  const auto type = fields.get_or<std::string>(type_field, "default");
  try {
    scaling.type = Choice<RopeStretch>::by_name(type, type_field);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
  }
  if (fields.get_or("partial_rotary_factor", 1.0) != 1.0) {
    fields.refuse("partial_rotary_factor", "1: only whole heads are rotated");
  }
  if (scaling.type == RopeStretch::none) return scaling;
  std::set<std::string> known = {
      "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings"};
  const auto number = [&](const char* field, double& value) {
    known.insert(field);
    value = fields.get_or(field, value);
  };
  scaling.factor = fields.get<double>("factor");
  scaling.original_length = fields.get_or<std::int64_t>("original_max_position_embeddings", 0);
  if (scaling.type == RopeStretch::yarn) {
    number("attention_factor", scaling.attention_factor);
    number("beta_fast", scaling.beta_fast);
    number("beta_slow", scaling.beta_slow);
    double mscale = 0, mscale_all_dim = 0;
    number("mscale", mscale);
    number("mscale_all_dim", mscale_all_dim);
    if (scaling.attention_factor == 0 && mscale != 0 && mscale_all_dim != 0) {
      scaling.attention_factor = mscale_factor(scaling.factor, mscale) / mscale_factor(scaling.factor, mscale_all_dim);
    }
    known.insert("truncate");
    scaling.truncate = fields.get_or("truncate", true);
  }
  if (scaling.type == RopeStretch::llama3) {
    scaling.low_freq_factor = fields.get<double>("low_freq_factor");
    scaling.high_freq_factor = fields.get<double>("high_freq_factor");
    known.insert({"low_freq_factor", "high_freq_factor"});
  }
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key) && !value.is_null()) {
      throw Error(fmt::format("{}: unknown field '{}' of rope scaling '{}'", origin, key, type),
                  "docs/formats.md lists the kinds of rope_scaling");
    }
  }
  try {
    check_rope_scaling(scaling);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
  }
  return scaling;
}

RopeScaling rope_scaling_from_text(const std::string& text, const std::string& flag) {
  if (text == "none") return {};
  const auto refuse = [&](const std::string& found) {
    throw UsageError(
        fmt::format("{} {}: {}", flag, text, found),
        "none, or linear, ntk, yarn or llama3 with a factor and, if wanted, the original length: yarn:4:512");
  };
  const auto number = [&](std::string_view part, auto& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size()) refuse(fmt::format("'{}' is not a number", part));
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) refuse("expected a factor behind the type");
  const std::string name = text.substr(0, colon);
  RopeScaling scaling;
  if (name == "ntk" || name == "dynamic") {
    scaling.type = RopeStretch::dynamic;
  } else if (name == "linear" || name == "yarn" || name == "llama3") {
    scaling.type = Choice<RopeStretch>::by_name(name, flag);
  } else {
    refuse(fmt::format("unknown type '{}'", name));
  }
  const std::string_view rest = std::string_view(text).substr(colon + 1);
  const std::size_t second = rest.find(':');
  number(rest.substr(0, second), scaling.factor);
  if (second != std::string_view::npos) {
    number(rest.substr(second + 1), scaling.original_length);
    if (scaling.original_length < 1) refuse("the original length is not positive");
  }
  check_rope_scaling(scaling);
  return scaling;
}

Json rope_scaling_to_json(const RopeScaling& scaling) {
  Json json = {{"rope_type", scaling.type}};
  if (scaling.type == RopeStretch::none) return json;
  json["factor"] = scaling.factor;
  if (scaling.original_length > 0) json["original_max_position_embeddings"] = scaling.original_length;
  const RopeScaling usual;
  const auto add = [&](const char* field, const auto& value, const auto& otherwise) {
    if (value != otherwise) json[field] = value;
  };
  if (scaling.type == RopeStretch::yarn) {
    add("attention_factor", scaling.attention_factor, usual.attention_factor);
    add("beta_fast", scaling.beta_fast, usual.beta_fast);
    add("beta_slow", scaling.beta_slow, usual.beta_slow);
    add("truncate", scaling.truncate, usual.truncate);
  }
  if (scaling.type == RopeStretch::llama3) {
    json["low_freq_factor"] = scaling.low_freq_factor;
    json["high_freq_factor"] = scaling.high_freq_factor;
  }
  return json;
}

}  // namespace crope::model
