// Names of run directories, and the run directories that paths on a command line stand for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crope::study {

// A run directory of a study is called <variant>_<seed>.
struct RunName {
  std::string variant;
  std::int64_t seed = 0;
};

// Nothing for a name of another form, or of an unknown variant.
std::optional<RunName> parse_run_name(std::string_view name);

// Run directories below `dir`, sorted by path.
std::vector<std::filesystem::path> runs_below(const std::filesystem::path& dir);

// Run directories stay as they are, in the given order. A study folder, which is no run itself but holds run
// directories such as <variant>_<seed>/, is replaced by them: variants in the paper's order, then seeds. Throws Error
// if a path is neither.
std::vector<std::filesystem::path> expand_runs(const std::vector<std::filesystem::path>& paths);

}  // namespace crope::study
