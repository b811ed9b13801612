// A whole evaluation: from a model directory and benchmark files to results.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/dist/process_group.h"
#include "crope/infer/scorer.h"
#include "crope/ops/kernels.h"

namespace crope::eval {

struct EvaluationOptions {
  std::filesystem::path model;                    // a model or run directory
  std::vector<std::string> tasks;                 // see parse_task_names
  std::filesystem::path data;                     // benchmark files
  std::vector<std::filesystem::path> texts = {};  // of the task perplexity
  std::filesystem::path out;                      // folder of the results; made if missing
  std::int64_t num_fewshot = 0;
  std::int64_t limit = 0;  // items of each task; 0: all
  std::int64_t batch_tokens = 4096;
  std::int64_t batch_sequences = 16;
  bool log_samples = false;
  bool overwrite = false;  // results on fewer items may replace those on more
  bool add_bos = false;
  std::optional<ops::WeightType> weights = {};  // without one: as the model records
  std::string device = "auto";                  // rank_device.h
  infer::ScoreEngine engine = infer::ScoreEngine::automatic;
  std::string program = {};  // recorded in results.json
};

// Adds the results to results.json and items.jsonl in `out` (stored_results.h), with log_samples also writes
// samples_<task>.jsonl, and returns the results of this evaluation alone, in the form of results.json. A journal in
// `out` keeps the answers until then: a killed evaluation, started again, continues. The ranks of a group share the
// items; the first of them writes, and the others return null. Throws UsageError on options that make no sense, Error
// on files that do not fit or when another rank has failed.
Json evaluate(const EvaluationOptions& options, Log& log,
              const std::shared_ptr<dist::ProcessGroup>& group = dist::world_of_one());

}  // namespace crope::eval
