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

constexpr std::size_t kMostDigits = 18;  // of a seed

// Place in the paper's table, seed, name. Other names come last.
std::tuple<std::ptrdiff_t, std::int64_t, std::string> place_of(const fs::path& run) {
  const std::string name = run.filename().string();
  const auto parsed = parse_run_name(name);
  const std::string variant = parsed ? parsed->variant : name;
  const auto row = std::ranges::find(model::kVariants, variant, &model::VariantTraits::name);
  return {row - model::kVariants.begin(), parsed ? parsed->seed : 0, name};
}

}  // namespace

std::optional<RunName> parse_run_name(std::string_view name) {
  const std::size_t line = name.rfind('_');
  if (line == std::string_view::npos) return {};
  const std::string variant(name.substr(0, line)), digits(name.substr(line + 1));
  const bool is_seed =
      !digits.empty() && digits.size() <= kMostDigits && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_seed || std::ranges::find(model::kVariants, variant, &model::VariantTraits::name) == model::kVariants.end()) {
    return {};
  }
  return RunName{variant, std::stoll(digits)};
}

std::vector<fs::path> runs_below(const fs::path& dir) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    if (entry.is_directory() && run::holds_run(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

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
    std::vector<fs::path> found = runs_below(path);
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
