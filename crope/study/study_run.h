// One run of a study as its directory records it: run.json, metrics.jsonl, results.json, items.jsonl. No checkpoint is
// read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/model/parameters.h"

namespace crope::study {

// One optimiser step. A value that is not finite is NaN.
struct StepRecord {
  std::int64_t step = 0;
  double loss = 0;
  std::optional<double> grad_norm;
};

struct LossAtStep {
  std::int64_t step = 0;
  double loss = 0;
};

// A benchmark's result. MMLU is one benchmark; its subjects are leaves.
struct Score {
  double value = 0;                           // share of correct items
  std::optional<double> error;                // standard error over items, from results.json
  std::map<std::string, std::string> leaves;  // task -> one '0' or '1' per item, from items.jsonl; may be empty
  std::string problem;                        // why the score cannot be used; empty if it can
};

struct StudyRun {
  std::string name;           // folder, "crope_all_3"
  std::filesystem::path dir;  // empty for runs that were not read from a folder
  std::string variant;
  std::int64_t seed = 0;
  Json record = nullptr;                             // run.json, null without one
  std::optional<model::ParameterCounts> parameters;  // of the model in run.json, or else its "parameters"
  std::int64_t warmup_steps = 0;
  std::optional<std::int64_t> planned_steps;   // from run.json
  std::vector<StepRecord> steps;               // in file order
  std::vector<LossAtStep> val_losses;          // in file order
  std::optional<double> val_loss;              // the last one; NaN if it is not finite
  std::map<std::string, double> other_losses;  // val_loss_<name> at the step of val_loss, by name; NaN as above
  std::map<std::string, Score> scores;         // by benchmark (benchmarks.h)
  std::vector<std::string> warnings;           // damaged lines, missing files
  std::string model_problem;                   // why the model in run.json cannot be read; empty if it can
  std::int64_t last_step = 0;                  // that metrics.jsonl records; 0 without any
  bool is_finished = true;                     // as far as the longest run of its study (study_data.h)

  // The step of val_loss; 0 without one.
  std::int64_t val_loss_step() const { return val_losses.empty() ? 0 : val_losses.back().step; }
};

// Reads `dir`, a folder <variant>_<seed>. Missing files leave their fields empty. Damaged lines of metrics.jsonl are
// skipped with a warning.
// Throws Error if run.json or results.json cannot be parsed, or names another variant or seed than the folder.
StudyRun read_study_run(const std::filesystem::path& dir, const std::string& variant, std::int64_t seed);

// Reads a folder of any name: variant and seed are those in run.json, "" and 0 where it has none.
StudyRun read_named_run(const std::filesystem::path& dir);

}  // namespace crope::study
