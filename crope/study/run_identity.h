// The settings in which the runs of one study must agree.
#pragma once

#include <map>
#include <string>

#include "crope/base/json.h"

namespace crope::study {

struct RunIdentity {
  // "model.d_model", "train.lr", "data.fingerprint", "init_from" to their values. Defaults are written out, so that
  // an omitted default equals a written one. Without the variant and the seed, which a study varies, and without
  // settings that do not change what a run computes (train::FieldKind::runtime, but for the number of steps).
  // A fingerprint that is missing from the record is null.
  std::map<std::string, Json> fields;

  // Settings that this program does not know, such as "train.out". They are never a reason to refuse a comparison.
  std::map<std::string, Json> unknown;
};

// From a run.json, or an object with some of its parts. A part that is missing has no fields; a model that cannot be
// read has the fields that it names.
RunIdentity run_identity(const Json& record);

}  // namespace crope::study
