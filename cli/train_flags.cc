#include "cli/train_flags.h"

#include <fmt/format.h>

#include "cli/recipe.h"

namespace crope::cli {

TrainFlags::TrainFlags(Flags& flags) : flags_(flags) {
  flags.option("--recipe", recipe_, fmt::format("Name ({}) or file of a recipe; flags override it", recipe_names()));
  flags.option("--variant", variant_, "rope, crope_qk, crope_qkv, crope_all, half_rope_qk or half_rope_all");
  model::visit_fields(
      model_, [&](const char* name, auto& value, const char* help) { flags.option(flag_name(name), value, help); });
  train::visit_train_fields(config_, [&](const char* name, auto& value, train::FieldKind, const char* help) {
    flags.option(flag_name(name), value, help);
  });
}

train::Settings TrainFlags::given() const {
  train::Settings settings = recipe_.empty() ? Json::object() : load_recipe(recipe_);
  if (flags_.given("--variant")) settings["variant"] = variant_;
  const auto take = [&](const char* name, const auto& value) {
    if (flags_.given(flag_name(name))) settings[name] = value;
  };
  model::visit_fields(model_, [&](const char* name, const auto& value, const char*) { take(name, value); });
  train::visit_train_fields(
      config_, [&](const char* name, const auto& value, train::FieldKind, const char*) { take(name, value); });
  return settings;
}

}  // namespace crope::cli
