// Recipes: JSON files that hold what differs from the defaults, under the names of the flags with underscores
// ("num_layers").
#pragma once

#include <span>
#include <string>

#include "crope/base/json.h"

namespace crope::cli {

struct BuiltinRecipe {
  const char* name;
  const char* json;
};

// The files of recipes/, built into the program.
std::span<const BuiltinRecipe> builtin_recipes();

// "paper, quickstart, small_cpu".
std::string recipe_names();

// The recipe of that name, or of that file when the name has a slash or ends in .json. Throws UsageError with the
// nearest name if there is none, and Error if the file is not a JSON object.
Json load_recipe(const std::string& name_or_file);

}  // namespace crope::cli
