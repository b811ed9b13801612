// All runs of a study, checked to be comparable.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/study/study_run.h"

namespace crope::study {

struct Study {
  std::vector<StudyRun> runs;         // by variant in the order of the paper's table, then by seed
  std::vector<std::string> warnings;  // for the reader of the verdicts
};

// Reads every folder <variant>_<seed>/ below `dir`; other folders are ignored. Unfinished runs are skipped with a
// warning. Different builds, and seeds with identical losses, are reported as warnings.
// Throws Error if there is no run, if two folders are one seed of a variant, or if runs differ in their data or in any
// setting other than variant and seed that changes the result.
Study read_study(const std::filesystem::path& dir);

// The checks of read_study on runs already read. Adds to study.warnings and removes unfinished runs.
void check_comparable(Study& study);

}  // namespace crope::study
