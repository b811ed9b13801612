// Runs that differ in nothing but their seed, taken together: one curve, one row of a table.
#pragma once

#include <string>
#include <vector>

#include "crope/report/run_data.h"

namespace crope::study {

struct SeedGroup {
  std::string label;  // the variant, or more where several groups have the same
  std::string variant;
  std::string settings;  // of the training, data and size, without variant and seed: equal where groups compare
  std::vector<const report::RunData*> runs;  // by seed; never empty
};

// Groups in the order of their first run. A run without a known seed, or with one that its group has already, is a
// group of its own. A run that stopped before the others of its group is omitted and gets a note.
// The groups point into `runs`, which must outlive them.
std::vector<SeedGroup> group_by_seed(std::vector<report::RunData>& runs);

// The largest number of seeds in a group; 0 without groups.
std::size_t most_seeds(const std::vector<SeedGroup>& groups);

}  // namespace crope::study
