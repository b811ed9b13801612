#include "cli/recipe.h"

#include <fmt/format.h>

#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/nearest_name.h"

namespace crope::cli {
namespace {

Json parse_recipe(const std::string& text, const std::string& origin) {
  Json json = parse_json(text, origin);
  if (!json.is_object()) throw Error(fmt::format("{}: expected a JSON object", origin), "see recipes/ for examples");
  return json;
}

}  // namespace

std::string recipe_names() {
  std::string names;
  for (const BuiltinRecipe& recipe : builtin_recipes()) names += (names.empty() ? "" : ", ") + std::string(recipe.name);
  return names;
}

Json load_recipe(const std::string& name_or_file) {
  std::vector<std::string> names;
  for (const BuiltinRecipe& recipe : builtin_recipes()) {
    if (name_or_file == recipe.name) return parse_recipe(recipe.json, name_or_file);
    names.emplace_back(recipe.name);
  }
  const bool is_file = name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".json");
  if (!is_file) throw UsageError(fmt::format("unknown recipe '{}'", name_or_file), suggest(name_or_file, names));
  return parse_recipe(read_file(name_or_file), name_or_file);
}

}  // namespace crope::cli
