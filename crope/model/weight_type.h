// The names of the types that weights may be read in, and the key of config.json that records one.
#pragma once

#include <optional>
#include <string_view>

#include "crope/base/choice.h"
#include "crope/ops/kernels.h"

// int4_min comes from imported files only; no flag selects it.
template <>
struct crope::ChoiceNames<crope::ops::WeightType> {
  using Kind = ops::WeightType;
  static constexpr auto kNames =
      choice_names<Kind>({{Kind::fp32, "fp32"}, {Kind::bf16, "bf16"}, {Kind::int8, "int8"}, {Kind::int4, "int4"}});
};

namespace crope::model {

// Absent: fp32. It belongs to the file of weights, not to the model's shape: ModelConfig does not have it.
inline constexpr const char* kWeightsKey = "weights";

// The type that `config`, the contents of config.json, records. Throws Error, starting with `origin`, if it is no type.
ops::WeightType recorded_weight_type(const Json& config, std::string_view origin);

}  // namespace crope::model
