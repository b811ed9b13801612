// The settings in which the runs of one study must agree.
#pragma once

#include <map>
#include <string>

#include "crope/base/json.h"

namespace crope::study {

// From a run.json, or an object with some of its parts: "model.d_model", "train.lr", "data.fingerprint", "init_from" to
// their values. Without the variant and the seed, which a study varies, and without settings that do not change what a
// run computes (train::FieldKind::runtime, but for the number of steps). Parts that are missing have no entries.
std::map<std::string, Json> run_identity(const Json& record);

}  // namespace crope::study
