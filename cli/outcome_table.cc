#include "cli/outcome_table.h"

#include <fmt/format.h>

#include "crope/base/progress.h"

namespace crope::cli {
namespace {

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

void print_outcomes(std::span<const study::Outcome> outcomes) {
  if (outcomes.empty()) return;
  fmt::print("{:<15}{:>12}{:>12}{:>9}{:>9}{:>10}{:>12}", "variant", "parameters", "attention", "loss", "val loss",
             "tokens/s", "time");
  for (const eval::Headline& line : outcomes.front().scores) fmt::print("{:>18}", line.task);
  fmt::print("\n");
  for (const study::Outcome& outcome : outcomes) {
    fmt::print("{:<15}{:>12}{:>12}{:>9}{:>9}{:>10}{:>12}", outcome.variant, outcome.parameters,
               outcome.attention_parameters, number(outcome.loss), number(outcome.val_loss),
               format_count(outcome.tokens_per_second), format_duration(outcome.seconds));
    for (const eval::Headline& line : outcome.scores) {
      // "±" is two bytes and one column.
      const std::string error = line.standard_error ? fmt::format(" ± {:.4f}", *line.standard_error) : "";
      fmt::print("{:>{}}", fmt::format("{:.4f}{}", line.value, error), error.empty() ? 18 : 19);
    }
    fmt::print("\n");
  }
}

Json outcomes_to_json(std::span<const study::Outcome> outcomes) {
  Json rows = Json::array();
  for (const study::Outcome& outcome : outcomes) {
    Json scores = Json::object();
    for (const eval::Headline& line : outcome.scores) {
      scores[line.task] = {{"metric", line.metric},
                           {"value", line.value},
                           {"standard_error", optional_json(line.standard_error)},
                           {"items", line.items}};
    }
    rows.push_back({{"variant", outcome.variant},
                    {"run", outcome.run.string()},
                    {"parameters", outcome.parameters},
                    {"attention_parameters", outcome.attention_parameters},
                    {"loss", optional_json(outcome.loss)},
                    {"val_loss", optional_json(outcome.val_loss)},
                    {"tokens_per_second", outcome.tokens_per_second},
                    {"seconds", outcome.seconds},
                    {"scores", scores}});
  }
  return rows;
}

}  // namespace crope::cli
