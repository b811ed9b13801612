// The contents of a run directory, read for drawing: run.json, metrics.jsonl, results.json. Missing parts are
// omitted and named in the notes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/report/line_chart.h"

namespace crope::report {

struct RunData {
  std::filesystem::path dir;
  std::string label;                 // the variant, or the folder where several runs have the same
  std::string variant;               // "" where nothing says
  std::optional<std::int64_t> seed;  // from run.json, or from a folder named <variant>_<seed>
  Json run;                          // run.json, null without one
  Json model;         // the model's configuration, from run.json or the newest checkpoint; null without either
  Points train_loss;  // over steps
  Points val_loss;
  std::vector<double> tokens_per_second;  // of each step
  double elapsed_seconds = 0;
  double tokens = 0;               // seen so far
  Json results;                    // results.json, null without one
  std::vector<std::string> notes;  // what is missing or damaged, in words
};

// The folder's own name, also of a path like "out/rope/".
std::string folder_name(const std::filesystem::path& dir);

// Throws Error if `dir` is not a folder with any of these files in it. Damaged lines are skipped and noted.
RunData read_run(const std::filesystem::path& dir);

// Several, with labels that tell them apart.
std::vector<RunData> read_runs(const std::vector<std::filesystem::path>& dirs);

struct Score {
  double value;
  double error;  // standard error; 0 where results.json has none
};

// A benchmark: its name in results.json, and the metric that is drawn and judged.
struct Benchmark {
  std::string task;
  std::string name;          // for sentences
  std::string title;         // with its metric
  std::string metric;        // "acc_norm,none"
  std::string error_metric;  // "acc_norm_stderr,none"
  double chance = 0;         // score of guessing; 0: not worth a line
};

std::optional<Score> find_score(const RunData& run, const Benchmark& benchmark);

// The median of the steps' rates without the first tenth of the steps; nothing where there are no steps.
std::optional<double> median_rate(const RunData& run);

// The last loss of each kind; training smoothed over the last steps of the paper's inset.
std::optional<double> final_train_loss(const RunData& run);
std::optional<double> final_val_loss(const RunData& run);

}  // namespace crope::report
