// A report of runs: the paper's figures from run directories, as one page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/report/html_page.h"

namespace crope::study {

struct ReportOptions {
  std::string title = "CRoPE beside RoPE";
  bool examples = true;                         // the illustrative heads
  bool trained_examples = false;                // and the layers that learn the same task: about a minute
  bool figures_only = false;                    // no page
  std::vector<report::Section> first_sections;  // of the caller, before all others
};

// Writes index.html and the figures into `out`, which is created if missing, and returns the page's path, or `out`
// without a page. `paths` are run directories and study folders (run_folders.h). Runs that differ only in their seed
// are one curve and one row. A run needs no checkpoint; the page lists what is missing. Throws Error if a path is
// neither a run nor a study.
std::filesystem::path write_report(const std::vector<std::filesystem::path>& paths, const std::filesystem::path& out,
                                   const ReportOptions& options, Log& log);

}  // namespace crope::study
