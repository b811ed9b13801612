// The flags that give a model's shape: --recipe, then one for each field of ModelConfig, which overrides it.
#pragma once

#include <string>

#include "cli/flags.h"
#include "crope/model/config.h"

namespace crope::cli {

class ModelFlags {
 public:
  // `recipe` is used unless --recipe names another.
  explicit ModelFlags(Flags& flags, std::string recipe = "paper");

  // Defaults, then the recipe, then the flags that were given. Not validated: the variant may still change.
  model::ModelConfig resolve() const;

 private:
  std::string recipe_;
  model::ModelConfig values_;
  Flags flags_;
};

}  // namespace crope::cli
