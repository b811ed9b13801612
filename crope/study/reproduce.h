// The paper's study: six variants, several seeds, trained, evaluated, reported, and its claims judged.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/study/claims.h"
#include "crope/study/experiment.h"
#include "crope/study/launcher.h"
#include "crope/study/small_world.h"
#include "crope/train/train_config.h"

namespace crope::study {

// How large. Without data of its own a study takes the small world.
struct Scale {
  const char* name;
  const char* recipe;  // of recipes/
  train::Settings differences;
  SmallWorldOptions world;
  std::int64_t limit;  // benchmark items; 0: all
  bool needs_data;     // the small world would be too small
};

// "smoke", "small" or "paper". Throws UsageError with the nearest name otherwise.
Scale scale_by_name(const std::string& name);

struct ReproduceOptions {
  Scale scale;
  train::Settings recipe;  // of the scale, loaded
  std::filesystem::path out;
  std::filesystem::path data;        // shards; empty: the small world
  std::filesystem::path benchmarks;  // folder of benchmark files; empty: the world's, or none with data of one's own
  std::int64_t seeds = 1;
  Json program = Json::object();
  Launcher launcher = {};  // of the runs
};

struct PlannedRun {
  std::string variant;
  std::int64_t seed;
  std::filesystem::path run;
  bool is_done;
};

struct Plan {
  std::vector<PlannedRun> runs;
  double tokens_per_second;  // of rope, measured
  double seconds;            // of training what is not done
};

struct ReproduceResult {
  std::vector<Outcome> outcomes;
  std::vector<Claim> claims;
  std::filesystem::path page;
};

// Measures a few steps and says what is to be done and how long it takes. Makes the small world where it is needed.
Plan plan_study(const ReproduceOptions& options, Log& log);

// Does it, but for what is done already; leaves runs in out/<variant>_<seed>/, claims.json and report/index.html.
// Nothing when a signal has stopped it: the same call goes on.
std::optional<ReproduceResult> reproduce(const ReproduceOptions& options, Log& log);

}  // namespace crope::study
