#include "cli/train_flags.h"

#include <fmt/format.h>

#include "cli/recipe.h"
#include "crope/model/rope_scaling.h"

namespace crope::cli {

TrainFlags::TrainFlags(Flags& flags) : flags_(flags) {
  flags.option("--recipe", recipe_, fmt::format("Name ({}) or file of a recipe; flags override it", recipe_names()));
  flags.option("--variant", variant_, "rope, crope_qk, crope_qkv, crope_all, half_rope_qk or half_rope_all");
  flags.option("--rope-scaling", rope_scaling_,
               "Stretched rotary frequencies: none, or linear, ntk, yarn or llama3 with a factor and, if wanted, the "
               "original length: yarn:4:512");
  model::visit_fields(
      model_, [&](const char* name, auto& value, const char* help) { flags.option(flag_name(name), value, help); });
  train::visit_train_fields(config_, [&](const char* name, auto& value, train::FieldKind, const char* help) {
    flags.option(flag_name(name), value, help);
  });
}

train::Settings TrainFlags::given() const {
  train::Settings settings = recipe_.empty() ? Json::object() : load_recipe(recipe_);
  if (flags_.given("--variant")) settings["variant"] = variant_;
  if (flags_.given("--rope-scaling")) {
    settings[model::kRopeScalingKey] =
        model::rope_scaling_to_json(model::rope_scaling_from_text(rope_scaling_, "--rope-scaling"));
  }
  const auto take = [&](const char* name, const auto& value) {
    if (flags_.given(flag_name(name))) settings[name] = value;
  };
  model::visit_fields(model_, [&](const char* name, const auto& value, const char*) { take(name, value); });
  train::visit_train_fields(
      config_, [&](const char* name, const auto& value, train::FieldKind, const char*) { take(name, value); });
  return settings;
}

}  // namespace crope::cli
