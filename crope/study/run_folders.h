// The run directories that paths on a command line stand for.
#pragma once

#include <filesystem>
#include <vector>

namespace crope::study {

// Run directories stay as they are, in the given order. A study folder, which is no run itself but holds run
// directories such as <variant>_<seed>/, is replaced by them: variants in the paper's order, then seeds. Throws Error
// if a path is neither.
std::vector<std::filesystem::path> expand_runs(const std::vector<std::filesystem::path>& paths);

}  // namespace crope::study
