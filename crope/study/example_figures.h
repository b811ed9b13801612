// The illustrative heads and the trained layers as figures, tables and words.
#pragma once

#include <filesystem>
#include <vector>

#include "crope/analysis/head_study.h"
#include "crope/analysis/toy_task.h"
#include "crope/report/html_page.h"

namespace crope::study {

// Heat maps, curves over width and length, and where absolute positions fail. Figures go into `dir`.
report::Section head_section(const analysis::HeadStudy& study, const std::filesystem::path& dir);

// Accuracy over steps and parameters, means over the seeds. REQUIRES: `runs` is not empty.
report::Section trained_section(const std::vector<analysis::ToyRun>& runs, const analysis::ToyOptions& options,
                                const std::filesystem::path& dir);

}  // namespace crope::study
