// crope params: the paper's Figure param_counts.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "crope/base/progress.h"
#include "crope/model/parameters.h"

namespace crope::cli {
namespace {

using model::ModelConfig;
using model::ParameterCounts;

struct Row {
  std::string_view variant;
  ParameterCounts counts;
  double saving;
};

std::vector<Row> count_variants(ModelConfig config) {
  std::vector<Row> rows;
  for (const model::VariantTraits& variant : model::kVariants) {
    config.variant = variant.variant;
    model::validate(config);
    rows.push_back({variant.name, model::count_parameters(config), model::attention_saving(config)});
  }
  return rows;
}

void print_json(std::span<const Row> rows) {
  auto array = Json::array();
  for (const Row& row : rows) {
    array.push_back({{"variant", row.variant},
                     {"embedding", row.counts.embedding},
                     {"attention", row.counts.attention},
                     {"feed_forward", row.counts.feed_forward},
                     {"norm", row.counts.norm},
                     {"total", row.counts.total()},
                     {"attention_saving", row.saving}});
  }
  fmt::print("{}\n", array.dump(2));
}

void print_table(std::span<const Row> rows) {
  fmt::print("{:<14}{:>15}{:>15}{:>15}{:>10}{:>15}{:>9}\n", "variant", "embedding", "attention", "feed_forward", "norm",
             "total", "saving");
  for (const Row& row : rows) {
    fmt::print("{:<14}{:>15}{:>15}{:>15}{:>10}{:>15}{:>8.1f}%\n", row.variant, format_grouped(row.counts.embedding),
               format_grouped(row.counts.attention), format_grouped(row.counts.feed_forward),
               format_grouped(row.counts.norm), format_grouped(row.counts.total()), 100 * row.saving);
  }
}

void declare_params(Flags& flags) {
  const auto model_flags = std::make_shared<ModelFlags>(flags);
  const auto json = std::make_shared<bool>(false);
  flags.option("--json", *json, "Print one JSON array instead of a table");
  flags.run([model_flags, json] {
    const std::vector<Row> rows = count_variants(model_flags->resolve());
    *json ? print_json(rows) : print_table(rows);
  });
}

}  // namespace

const Command kParamsCommand = {"params", "Count the parameters of the six variants",
                                "crope params --recipe paper --vocab-size 50304", declare_params};

}  // namespace crope::cli
