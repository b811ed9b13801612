// config.json's "rope_scaling": Hugging Face's object.
#pragma once

#include <string>

#include "crope/base/json.h"
#include "crope/ops/rope_scaling.h"

namespace crope::model {

inline constexpr const char* kRopeScalingKey = "rope_scaling";

// {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096, ...}; "type" stands for "rope_type" in
// older files. `rope_theta` is ignored: its owner is the configuration around it. `origin` is how messages call it.
// Throws Error naming the type or field that is unknown, missing or impossible.
ops::RopeScaling rope_scaling_from_json(const Json& json, const std::string& origin);

// Fields that have their defaults are omitted, unless Hugging Face requires them.
Json rope_scaling_to_json(const ops::RopeScaling& scaling);

// A flag's value: "none", or a type, a factor and, optionally, the original length: "linear:2", "ntk:4", "yarn:4:512",
// "llama3:8:8192". The type has its usual parameters; "ntk" is "dynamic". Throws UsageError, beginning with `flag`.
ops::RopeScaling rope_scaling_from_text(const std::string& text, const std::string& flag);

// Throws UsageError unless factors are positive and finite, and the ends of a ramp in order.
void check_rope_scaling(const ops::RopeScaling& scaling);

}  // namespace crope::model
