// One run of a study: a variant, trained and evaluated. What is done already is not repeated.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/eval/results.h"
#include "crope/study/launcher.h"
#include "crope/study/paper_figures.h"
#include "crope/train/train_job.h"

namespace crope::study {

struct Experiment {
  train::JobRequest job;             // its run directory also takes the results
  std::filesystem::path benchmarks;  // folder of benchmark files; empty: nothing is evaluated
  std::vector<std::string> tasks = paper_tasks();
  std::int64_t limit = 0;  // items of each task; 0: all
  Launcher launcher = {};  // trains and evaluates as several ranks, where it has a command
};

struct Outcome {
  std::string variant;
  std::filesystem::path run;
  std::int64_t parameters = 0;
  std::int64_t attention_parameters = 0;
  std::optional<double> loss;  // smoothed over the last steps
  std::optional<double> val_loss;
  double tokens_per_second = 0;
  double seconds = 0;                  // of training
  std::vector<eval::Headline> scores;  // the headline metric of each task
};

// Trains job.run to its end and evaluates its last checkpoint into it. Nothing when a signal has stopped it: the next
// call resumes it. Throws what train() and evaluate() throw.
std::optional<Outcome> run_experiment(const Experiment& experiment, Log& log);

// Whether the run directory has reached the last step of its run.json.
bool is_finished_run(const std::filesystem::path& run);

// The outcome that a finished run directory records.
Outcome read_outcome(const std::filesystem::path& run, const std::vector<std::string>& tasks);

}  // namespace crope::study
