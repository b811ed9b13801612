#include "cli/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/progress.h"

namespace crope::cli {
namespace {

std::string format_range(const std::optional<Interval>& interval, bool with_sign) {
  if (!interval) return "-";
  return with_sign ? fmt::format("[{:+.4f}, {:+.4f}]", interval->low, interval->high)
                   : fmt::format("[{:.4f}, {:.4f}]", interval->low, interval->high);
}

TextTable table_of(const study::ComparedText& text) {
  const std::string& baseline = text.rows.front().label;
  TextTable table{
      .columns = {"runs", "parameters", "n", "loss", "95% interval", "minus " + baseline, "95% interval", "p"},
      .rows = {}};
  for (const study::ComparisonRow& row : text.rows) {
    table.rows.push_back(
        {row.label, row.parameters > 0 ? format_grouped(row.parameters) : "-", std::to_string(row.loss.size),
         fmt::format("{:.4f}", row.loss.mean), format_range(row.loss_interval, /*with_sign=*/false),
         row.difference ? fmt::format("{:+.4f}", row.difference->mean) : "-",
         format_range(row.difference_interval, /*with_sign=*/true), row.p ? fmt::format("{:.2g}", *row.p) : "-"});
  }
  return table;
}

}  // namespace

void print_comparison(std::span<const study::ComparedText> texts, TableStyle style) {
  for (const study::ComparedText& text : texts) {
    if (&text != &texts.front()) fmt::print("\n");
    if (texts.size() > 1) fmt::print("{}{}", text.title(), style == TableStyle::markdown ? ":\n\n" : "\n");
    fmt::print("{}", format_table(table_of(text), style));
  }
}

void print_overview(const report::Table& overview, TableStyle style) {
  TextTable table{.columns = overview.columns, .rows = overview.rows};
  for (std::vector<std::string>& row : table.rows) std::ranges::replace(row, std::string("–"), std::string("-"));
  fmt::print("\n{}\n{}\n", format_table(table, style), overview.caption);
}

}  // namespace crope::cli
