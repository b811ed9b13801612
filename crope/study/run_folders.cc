#include "crope/study/run_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "crope/base/error.h"
#include "crope/model/model_dir.h"
#include "crope/model/variant.h"
#include "crope/run/run_dir.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// Place in the paper's table, number of digits (so that 10 follows 9), name.
std::tuple<std::size_t, std::size_t, std::string> place_of(const fs::path& run) {
  const std::string name = run.filename().string();
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  std::string_view variant = std::string_view(name).substr(0, digits);
  if (digits < name.size() && variant.ends_with('_')) variant.remove_suffix(1);
  const auto row = std::ranges::find(model::kVariants, variant, &model::VariantTraits::name);
  return {static_cast<std::size_t>(row - model::kVariants.begin()), name.size(), name};
}

}  // namespace

std::vector<fs::path> expand_runs(const std::vector<fs::path>& paths) {
  std::vector<fs::path> runs;
  for (const fs::path& path : paths) {
    const bool is_model = fs::exists(path / model::kConfigFile) || fs::exists(path / run::kLatestLink);
    if (is_model || run::holds_run(path)) {
      runs.push_back(path);
      continue;
    }
    if (!fs::is_directory(path)) {
      throw Error(fmt::format("{}: no such folder", path.string()),
                  "give run directories, or a folder that holds them");
    }
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.is_directory() && run::holds_run(entry.path())) found.push_back(entry.path());
    }
    if (found.empty()) {
      throw Error(fmt::format("{} is not a run directory and holds none", path.string()),
                  "a run directory has run.json and metrics.jsonl, as 'crope train --out' writes them; a study folder "
                  "holds run directories <variant>_<seed>/");
    }
    std::ranges::sort(found, {}, place_of);
    runs.insert(runs.end(), found.begin(), found.end());
  }
  return runs;
}

}  // namespace crope::study
