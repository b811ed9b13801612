#include "cli/model_flags.h"

#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "cli/recipe.h"
#include "crope/base/error.h"

namespace crope::cli {
ModelFlags::ModelFlags(Flags& flags, std::string recipe) : recipe_(std::move(recipe)), flags_(flags) {
  flags.option("--recipe", recipe_, "A recipe's name or file; flags override it");
  model::visit_fields(values_, [&](const char* name, auto& value) {
    flags.option(flag_name(name), value, fmt::format("{} of the model", name));
  });
}

model::ModelConfig ModelFlags::resolve() const {
  const Json recipe = load_recipe(recipe_);
  model::ModelConfig config = values_;
  model::visit_fields(config, [&](const char* name, auto& value) {
    if (flags_.given(flag_name(name)) || !recipe.contains(name)) return;
    constexpr bool kWhole = std::is_integral_v<std::remove_reference_t<decltype(value)>>;
    if (kWhole ? !recipe[name].is_number_integer() : !recipe[name].is_number()) {
      throw Error(fmt::format("recipe '{}': {}: expected a {}number, found {}", recipe_, name, kWhole ? "whole " : "",
                              recipe[name].dump()));
    }
    recipe[name].get_to(value);
  });
  return config;
}

}  // namespace crope::cli
