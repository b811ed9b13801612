// The tables of a report: one row per variant, one per run, what is missing, and the configuration.
#pragma once

#include <vector>

#include "crope/report/html_page.h"
#include "crope/report/run_data.h"
#include "crope/report/run_figures.h"
#include "crope/study/seed_group.h"

namespace crope::study {

// Losses, benchmarks and speed: means with 95% intervals over seeds.
report::Table variant_table(const std::vector<SeedGroup>& groups, const std::vector<report::ParameterBar>& bars);

// Losses, benchmarks and speed of each run, folded away.
report::Table run_table(const std::vector<report::RunData>& runs);

report::Table parameter_table(const std::vector<report::ParameterBar>& bars);

// Missing parts of runs, a paragraph for each part with all runs concerned; empty if nothing is missing.
std::string missing_parts(const std::vector<report::RunData>& runs);

// Commands and run.json, once for each group.
report::Section configuration_section(const std::vector<SeedGroup>& groups);

}  // namespace crope::study
