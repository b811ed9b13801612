#include "cli/model_flags.h"

#include <fmt/format.h>

#include "cli/recipe.h"
#include "crope/train/train_config.h"

namespace crope::cli {

ModelFlags::ModelFlags(Flags& flags, std::string recipe) : recipe_(std::move(recipe)), flags_(flags) {
  flags.option("--recipe", recipe_, fmt::format("Name ({}) or file of a recipe; flags override it", recipe_names()));
  model::visit_fields(
      values_, [&](const char* name, auto& value, const char* help) { flags.option(flag_name(name), value, help); });
}

model::ModelConfig ModelFlags::resolve() const {
  train::Settings settings = load_recipe(recipe_);
  model::visit_fields(values_, [&](const char* name, const auto& value, const char*) {
    if (flags_.given(flag_name(name))) settings[name] = value;
  });
  model::ModelConfig config;
  train::TrainConfig unused;  // a recipe also holds settings of the run
  train::apply_settings(settings, config, unused, fmt::format("recipe '{}'", recipe_));
  return config;
}

}  // namespace crope::cli
