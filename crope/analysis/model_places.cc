#include "crope/analysis/model_places.h"

#include "crope/model/model_dir.h"
#include "crope/run/run_dir.h"

namespace crope::analysis {
namespace fs = std::filesystem;

std::vector<ModelPlace> model_places(const fs::path& path) {
  std::vector<ModelPlace> places;
  if (!fs::exists(path / model::kConfigFile)) {
    for (const run::Checkpoint& checkpoint : run::list_checkpoints(path)) {
      if (fs::exists(checkpoint.path / model::kConfigFile)) places.push_back({checkpoint.path, checkpoint.step});
    }
  }
  if (places.empty()) places.push_back({model::resolve_model_dir(path), std::nullopt});
  return places;
}

}  // namespace crope::analysis
