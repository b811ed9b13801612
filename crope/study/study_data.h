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

// Reads every folder <variant>_<seed>/ below `dir`; other folders are ignored.
// Throws Error if there is no run, if two folders are one seed of a variant, or if runs differ in their data or in any
// setting other than variant and seed that changes the result.
Study read_study(const std::filesystem::path& dir);

// The checks of read_study on runs already read. Reports each of these as a warning:
// - unfinished runs get is_finished = false: only the claim about stability looks at them;
// - a run with the same losses as an earlier seed of its variant is a copy, and is removed;
// - losses of another step than the study's last validation are removed;
// - losses that are not finite, different builds, unknown settings that differ, and models that cannot be read.
void check_comparable(Study& study);

// The warnings without those that name runs of other variants only.
std::vector<std::string> warnings_about(const Study& study, const std::string& variant);

}  // namespace crope::study
