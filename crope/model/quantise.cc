#include "crope/model/quantise.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/ops/error_feedback.h"

namespace crope::model {
namespace {

using ops::WeightType;
using torch::Tensor;

bool has_part(const ParameterSpec& spec, std::string_view part) {
  return spec.name.find(part) != std::string::npos;
}

const Tensor& moments_of_input(const ParameterSpec& spec, const InputMoments& moments) {
  if (has_part(spec, ".attention.o.")) return moments.o;
  if (spec.component == Component::attention) return moments.attention;
  return has_part(spec, ".down.") ? moments.down : moments.feed_forward;
}

// "blocks.3.attention.q.weight" is of block 3.
std::size_t block_of(const ParameterSpec& spec) {
  constexpr std::string_view kPrefix = "blocks.";
  return std::stoul(spec.name.substr(kPrefix.size()));
}

}  // namespace

StoredValue quantised_value(const ParameterSpec& spec, const Tensor& value, WeightType type, std::string_view origin) {
  if (spec.role == Role::gain) return value.detach().to(at::kFloat);
  if (is_conjugate(spec.name)) {
    throw Error(fmt::format("{}: tensor '{}' is conjugate-linear, and such parts are not quantised", origin, spec.name),
                "train the model until they have faded (conjugate_scale 0), or use fp32 or bf16 weights");
  }
  const bool is_vocabulary = spec.component == Component::embedding;
  try {
    return ops::quantised(value, is_vocabulary && type == WeightType::int4 ? WeightType::int8 : type);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: tensor '{}': {}", origin, spec.name, e.what()), e.hint());
  }
}

Transformer quantise(const Transformer& model, WeightType type) {
  std::vector<StoredValue> values;
  for (const Parameter& parameter : model.parameters) {
    values.push_back(quantised_value(parameter.spec, parameter.value, type, "the model"));
  }
  return make_transformer(model.config, std::move(values));
}

Transformer quantise_for(const Transformer& model, const std::vector<InputMoments>& moments) {
  std::vector<StoredValue> values;
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const auto& [spec, value, quantised] = model.parameters[i];
    const bool is_refused = is_conjugate(spec.name);
    if (is_refused || spec.role == Role::gain || spec.component == Component::embedding) {
      values.push_back(quantised_value(spec, value, WeightType::int4, "the model"));
      continue;
    }
    const Tensor& inputs = moments_of_input(spec, moments.at(block_of(spec)));
    try {
      if (spec.role == Role::pair_a) {
        auto [a, b] = ops::quantised_with_feedback(value, model.parameters[++i].value, inputs);
        values.insert(values.end(), {std::move(a), std::move(b)});
      } else {
        values.push_back(ops::quantised_with_feedback(value, inputs));
      }
    } catch (const Error& e) {
      throw Error(fmt::format("the model: tensor '{}': {}", spec.name, e.what()), e.hint());
    }
  }
  return make_transformer(model.config, std::move(values));
}

WeightType weight_type(const Transformer& model) {
  bool has_bytes = false;
  for (const Parameter& parameter : model.parameters) {
    if (!parameter.quantised) continue;
    if (parameter.quantised->type != WeightType::int8) return WeightType::int4;
    has_bytes = true;
  }
  if (has_bytes) return WeightType::int8;
  return model.embedding.scalar_type() == at::kBFloat16 ? WeightType::bf16 : WeightType::fp32;
}

}  // namespace crope::model
