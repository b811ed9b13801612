#include "cli/train_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recipe.h"
#include "crope/model/rope_scaling.h"
#include "crope/model/variant.h"

namespace crope::cli {
namespace {

struct Heading {
  std::string_view first_field;
  const char* heading;
};

// The headings of --help, each with the field of a run that it begins with.
constexpr std::array kHeadings = {Heading{"steps", "Schedule"},
                                  Heading{"weight_decay", "Optimiser"},
                                  Heading{"conjugate_steps", "Annealing and teacher"},
                                  Heading{"embedding_std", "Start"},
                                  Heading{"data_order", "Data"},
                                  Heading{"precision", "Machine"},
                                  Heading{"checkpoint_every", "Checkpoints"},
                                  Heading{"validate_every", "Validation"}};

// Sets the heading of a field and of those behind it.
void begin_heading(Flags& flags, std::string_view field) {
  const auto* const found = std::ranges::find(kHeadings, field, &Heading::first_field);
  if (found != kHeadings.end()) flags.group(found->heading);
}

std::string variant_help() {
  std::vector<std::string_view> names;
  for (const model::VariantTraits& row : model::kVariants) names.push_back(row.name);
  return fmt::format("Attention variant: {}", fmt::join(names, ", "));
}

}  // namespace

TrainFlags::TrainFlags(Flags& flags) : flags_(flags) {
  flags.group("Model");
  flags.option("--recipe", recipe_, fmt::format("Name ({}) or file of a recipe; flags override it", recipe_names()));
  flags.option("--variant", variant_, variant_help());
  flags.option("--rope-scaling", rope_scaling_,
               "Stretched rotary frequencies: none, or linear, ntk, yarn or llama3 with a factor and, if wanted, the "
               "original length: yarn:4:512");
  model::visit_fields(
      model_, [&](const char* name, auto& value, const char* help) { flags.option(flag_name(name), value, help); });
  train::visit_train_fields(config_, [&](const char* name, auto& value, train::FieldKind, const char* help) {
    begin_heading(flags, name);
    flags.option(flag_name(name), value, help);
  });
  flags.group("");
}

train::Settings TrainFlags::recipe() const {
  return recipe_.empty() ? Json::object() : load_recipe(recipe_);
}

train::Settings TrainFlags::given() const {
  train::Settings settings = Json::object();
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
