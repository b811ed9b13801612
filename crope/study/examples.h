// The paper's section "Illustrative Example" as numbers, figures and a page: heads with analytic weights, and a layer
// that learns the same task.
#pragma once

#include <filesystem>
#include <vector>

#include "crope/analysis/head_study.h"
#include "crope/analysis/toy_task.h"
#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/report/html_page.h"

namespace crope::study {

struct ExampleOptions {
  analysis::HeadStudyOptions heads;
  bool train = true;  // also the layers that learn; most of the time goes there
  analysis::ToyOptions toy;
  std::vector<std::int64_t> toy_widths = {16, 32, 64};
};

struct Examples {
  analysis::HeadStudy heads;
  analysis::ToyOptions toy_options;
  std::vector<analysis::ToyRun> trained;  // empty if skipped
};

Examples make_examples(const ExampleOptions& options, Log& log);

Json examples_to_json(const Examples& examples);

// Draws the figures into the folder `dir` and returns the sections of a page that show them.
std::vector<report::Section> example_sections(const Examples& examples, const std::filesystem::path& dir);

// examples.json, index.html and the figures, into `dir`, which is created if missing.
void write_examples(const Examples& examples, const std::filesystem::path& dir);

}  // namespace crope::study
