// How the cost of a training step grows with the model and the batch, measured one dimension at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/study/step_cost.h"

namespace crope::study {

struct GrowthPoint {
  std::int64_t value;  // of what grows
  std::string variant;
  StepCost cost;
};

struct GrowthAxis {
  std::string name;   // "seq_len"
  std::string label;  // "sequence length"
  std::string fixed;  // what stays as it is, in words
  std::vector<GrowthPoint> points;
};

struct GrowthOptions {
  std::vector<std::string> axes = {"seq_len", "width", "layers", "batch", "threads"};
  std::vector<std::string> variants = {"rope", "crope_all"};
  int repetitions = 3;
  // No model with more floating-point operations per step than this; points beyond are omitted.
  double most_flops = 1e13;
};

// Throws UsageError if an axis or a variant is unknown.
std::vector<GrowthAxis> measure_growth(const GrowthOptions& options, Log& log);

// growth_<axis>.svg and .png in `dir`: time of a step against what grows, a line for each variant.
void draw_growth(const std::vector<GrowthAxis>& axes, const std::filesystem::path& dir);

Json to_json(const std::vector<GrowthAxis>& axes);

}  // namespace crope::study
