// How far a run has come, as train_state.json holds it. Knows no Torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crope/base/json.h"
#include "crope/data/token_loader.h"

namespace crope::train {

struct BestValidation {
  std::int64_t step;
  double val_loss;
};

struct TrainProgress {
  std::int64_t step = 0;  // finished updates
  std::uint64_t tokens = 0;
  double elapsed_s = 0;
  data::LoaderState loader;
  std::optional<BestValidation> best;  // among the checkpoints
};

// The contents of train_state.json.
struct SavedState {
  TrainProgress progress;
  std::int64_t optimizer_steps = 0;
  Json file_hashes = Json::object();  // by name
  bool has_own_hash = true;           // false: written by version 0.1
};

// With a hash over all fields.
Json to_json(const SavedState& state);

// Throws Error naming `origin` and the field that is missing or wrong, and if the hash does not match the fields.
SavedState saved_state_from_json(const Json& json, const std::string& origin);

}  // namespace crope::train
