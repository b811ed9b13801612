// The quickstart, a whole study in minutes: a small world, a tokenizer, three variants trained and scored, and a
// report.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/study/experiment.h"
#include "crope/study/small_world.h"
#include "crope/train/train_config.h"

namespace crope::study {

struct QuickstartOptions {
  std::filesystem::path out;
  train::Settings recipe;  // of every run
  std::vector<std::string> variants = {"rope", "crope_all", "half_rope_all"};
  SmallWorldOptions world = {};
  std::int64_t limit = 0;         // benchmark items of each kind; 0: all
  Json program = Json::object();  // recorded in every run
};

struct Sample {
  std::string variant;
  std::string prompt;
  std::string text;
};

struct QuickstartResult {
  std::vector<Outcome> outcomes;  // of each variant
  std::vector<Sample> samples;
  std::filesystem::path page;  // the report
};

// Leaves out/<variant>/ run directories with results.json, and out/report/index.html. Started again it continues where
// it was. Nothing when a signal has stopped it.
std::optional<QuickstartResult> quickstart(const QuickstartOptions& options, Log& log);

}  // namespace crope::study
