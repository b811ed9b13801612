// The paper's study: six variants, several seeds, trained, evaluated, reported, and its claims judged.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/study/claims.h"
#include "crope/study/corpus.h"
#include "crope/study/experiment.h"
#include "crope/study/launcher.h"
#include "crope/train/train_config.h"

namespace crope::study {

// How large a study is. Without data of its own it takes the embedded world.
struct Scale {
  const char* name;
  const char* recipe;  // a name in recipes/
  train::Settings differences;
  SmallWorldOptions world;
  std::int64_t limit;  // benchmark items; 0: all
  std::int64_t seeds;  // unless the user gives a number
  bool needs_data;     // the embedded world would be too small
};

// "smoke", "world", "small" or "paper". Throws UsageError with the nearest name otherwise.
Scale scale_by_name(const std::string& name);

struct ReproduceOptions {
  Scale scale;
  train::Settings recipe;  // the scale's recipe, loaded
  std::filesystem::path out;
  CorpusOptions corpus;
  std::int64_t seeds = 1;
  std::int64_t jobs = 0;  // runs side by side, each a process with one thread; 0: one after the other in this process
  std::string only;       // "rope_0": this run alone; empty: all
  Json program = Json::object();
  Launcher launcher = {};  // starts every run as several ranks, where it has a command
};

struct PlannedRun {
  std::string variant;
  std::int64_t seed;
  std::filesystem::path run;
  bool is_done;
};

struct Plan {
  std::vector<PlannedRun> runs;
  double tokens_per_second;  // measured with rope, in one run
  double seconds;            // to train what is not done
};

struct ReproduceResult {
  std::vector<Outcome> outcomes;  // of every finished run of the study
  std::vector<Claim> claims;
  std::filesystem::path page;
};

// The runs of the study in the order in which they are made. Throws UsageError if options.only is none of them.
std::vector<PlannedRun> planned_runs(const ReproduceOptions& options);

// The study's data, made where it is missing. Throws UsageError if the scale needs data and none is given.
Corpus study_corpus(const ReproduceOptions& options, Log& log);

// Measures a few steps and estimates the time.
Plan plan_study(const ReproduceOptions& options, const Corpus& corpus, Log& log);

// The same before there is data, and without leaving any: data that is missing is made in a temporary folder.
Plan plan_study(const ReproduceOptions& options, Log& log);

// Makes the runs of the plan that are not done in out/<variant>_<seed>/, then claims.json and report/index.html of all
// finished runs of the study. Nothing when a signal has stopped it: the same call resumes it.
std::optional<ReproduceResult> reproduce(const ReproduceOptions& options, const Corpus& corpus, Log& log);

}  // namespace crope::study
