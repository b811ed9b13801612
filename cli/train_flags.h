// The flags that give the settings of a training run: --recipe, then one for each field of model and run.
#pragma once

#include <string>

#include "cli/flags.h"
#include "crope/train/train_config.h"

namespace crope::cli {

class TrainFlags {
 public:
  explicit TrainFlags(Flags& flags);

  // The settings of the recipe; empty without one.
  train::Settings recipe() const;

  // The settings given as flags, without defaults.
  train::Settings given() const;

 private:
  std::string recipe_;
  std::string variant_ = "rope";
  std::string rope_scaling_ = "none";
  model::ModelConfig model_;
  train::TrainConfig config_;
  Flags flags_;
};

}  // namespace crope::cli
