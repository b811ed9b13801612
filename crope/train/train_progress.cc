#include "crope/train/train_progress.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/json_fields.h"

namespace crope::train {
namespace {

constexpr int kVersion = 1;
constexpr const char* kStateHash = "state_hash";

// The hash of all other fields.
std::string state_hash(Json state) {
  state.erase(kStateHash);
  const std::string text = state.dump();
  return hash_text(content_hash(std::as_bytes(std::span(text))));
}

Json best_to_json(const std::optional<BestValidation>& best) {
  if (!best) return nullptr;
  return {{"step", best->step}, {"val_loss", best->val_loss}};
}

}  // namespace

Json to_json(const SavedState& state) {
  const TrainProgress& progress = state.progress;
  Json json = {{"version", kVersion},
               {"step", progress.step},
               {"tokens", progress.tokens},
               {"elapsed_s", progress.elapsed_s},
               {"optimizer_steps", state.optimizer_steps},
               {"loader", data::to_json(progress.loader)},
               {"best", best_to_json(progress.best)},
               {"hashes", state.file_hashes}};
  json[kStateHash] = state_hash(json);
  return json;
}

SavedState saved_state_from_json(const Json& json, const std::string& origin) {
  const JsonFields fields(json, origin);
  if (fields.get<std::int64_t>("version") != kVersion) {
    fields.refuse("version", std::to_string(kVersion), "it was written by another version of this program");
  }
  SavedState state;
  state.has_own_hash = fields.find(kStateHash) != nullptr;
  if (state.has_own_hash && fields.get<std::string>(kStateHash) != state_hash(json)) {
    throw Error(fmt::format("{} is damaged or was edited: its hash differs from its fields", origin));
  }
  TrainProgress& progress = state.progress;
  progress.step = fields.get<std::int64_t>("step");
  progress.tokens = fields.get<std::uint64_t>("tokens");
  progress.elapsed_s = fields.get<double>("elapsed_s");
  progress.loader = data::loader_state_from_json(fields.at("loader"), origin);
  if (fields.find("best") != nullptr) {
    const JsonFields best = fields.object("best");
    progress.best = {best.get<std::int64_t>("step"), best.get<double>("val_loss")};
  }
  state.optimizer_steps = fields.get<std::int64_t>("optimizer_steps");
  state.file_hashes = fields.at("hashes");
  return state;
}

}  // namespace crope::train
