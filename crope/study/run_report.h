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
  std::vector<report::Section> first_sections;  // of the caller, before all others
};

// Writes index.html and the figures into `out`, which is made if it is not there, and returns the page's path. What a
// run directory does not have is left out with a word. Throws Error if a directory is no run.
std::filesystem::path write_report(const std::vector<std::filesystem::path>& runs, const std::filesystem::path& out,
                                   const ReportOptions& options, Log& log);

}  // namespace crope::study
