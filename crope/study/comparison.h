// Sets of runs side by side: final validation losses with intervals, and differences paired by seed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/statistics.h"
#include "crope/report/html_page.h"
#include "crope/study/study_data.h"

namespace crope::study {

// The runs of one variant of one study, or a single run.
struct RunSet {
  std::string label;           // "crope_all", the path of a single run, or what the caller chose
  std::vector<StudyRun> runs;  // by seed
};

// "STUDY/VARIANT" is the set of the folders STUDY/VARIANT_<seed>; "STUDY" is one set for each variant in it. A run
// directory is a set of one run, and a folder of runs with other names is one set for each. Each may be preceded by
// "LABEL="; an argument that exists, or whose folder exists, is a path even with '=' in it. Adds the warnings about
// these runs to `warnings`.
// Throws Error if there is no such run, and UsageError for an unknown variant or a label that would name several sets.
std::vector<RunSet> read_run_sets(const std::string& argument, std::vector<std::string>& warnings);

// One set for each variant of a study.
std::vector<RunSet> run_sets(const Study& study);

// One set measured on one text.
struct ComparisonRow {
  std::string label;
  std::int64_t parameters = 0;                  // 0 if run.json does not tell
  SampleSummary loss;                           // over the seeds of the set
  std::optional<Interval> loss_interval;        // 95%, with at least two seeds that differ
  std::optional<SampleSummary> difference;      // to the first set, over the seeds of both; none for the first set
  std::optional<Interval> difference_interval;  // 95%, with at least two seeds that differ
  std::optional<double> p;                      // two-sided paired Student test, for this pair alone; 1 without spread
};

struct ComparedText {
  std::string name;  // "" for the validation part of the training data
  std::vector<ComparisonRow> rows;

  // "validation", or the name.
  std::string title() const { return name.empty() ? "validation" : name; }
};

// The first set is the baseline of the differences. Losses that are not finite are skipped. Sets without a loss on a
// text have no row there.
// Throws Error if the sets were trained on different data, or validated on different texts of one name.
std::vector<ComparedText> compare_sets(const std::vector<RunSet>& sets);

// "no validation loss: rope, wide": sets without a finite one; empty if there are none.
std::string sets_without_losses(const std::vector<RunSet>& sets);

// One row for each set: parameters, steps, tokens, losses, benchmark scores, tokens per second.
report::Table overview_of_sets(const std::vector<RunSet>& sets);

// "the sets end at different steps: rope at 620, wide at 1,240"; empty if they end at the same step.
std::string different_steps(const std::vector<RunSet>& sets);

// Array of {"text", "runs", "parameters", "n", "loss", "interval", "difference", "difference_interval", "pairs", "p"}.
Json comparison_to_json(const std::vector<ComparedText>& texts);

}  // namespace crope::study
