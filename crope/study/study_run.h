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

// A benchmark's result. MMLU is one benchmark; its subjects are leaves.
struct Score {
  double value = 0;                           // share of correct items
  std::optional<double> error;                // standard error over items, from results.json
  std::map<std::string, std::string> leaves;  // task -> one '0' or '1' per item, from items.jsonl; may be empty
  std::string problem;                        // why the score cannot be used; empty if it can
};

struct StudyRun {
  std::string name;  // folder, "crope_all_3"
  std::string variant;
  std::int64_t seed = 0;
  Json record = nullptr;  // run.json, null without one
  std::optional<model::ParameterCounts> parameters;
  std::int64_t warmup_steps = 0;
  std::optional<std::int64_t> planned_steps;   // from run.json
  std::vector<StepRecord> steps;               // in file order
  std::optional<double> val_loss;              // the last one
  std::map<std::string, double> other_losses;  // the last val_loss_<name>, by name
  std::map<std::string, Score> scores;         // "hellaswag", "mmlu", "gsm8k"
  std::vector<std::string> warnings;           // damaged lines, missing files

  // The last step that metrics.jsonl records; 0 without any.
  std::int64_t last_step = 0;
};

// Reads `dir`, a folder <variant>_<seed>. Missing files leave their fields empty. Damaged lines of metrics.jsonl are
// skipped with a warning.
// Throws Error if run.json or results.json cannot be parsed, or names another variant or seed than the folder.
StudyRun read_study_run(const std::filesystem::path& dir, const std::string& variant, std::int64_t seed);

}  // namespace crope::study
