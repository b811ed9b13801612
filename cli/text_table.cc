#include "cli/text_table.h"

#include <algorithm>

namespace crope::cli {
namespace {

// Columns on a terminal: characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_numeric(const TextTable& table, std::size_t column) {
  return std::ranges::all_of(table.rows, [&](const std::vector<std::string>& row) {
    return row[column].find_first_not_of("0123456789+-−.,%[]e ") == std::string::npos;
  });
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return to_the_right ? space + text : text + space;
}

std::string markdown_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

}  // namespace

std::string format_table(const TextTable& table, TableStyle style) {
  std::string out;
  const std::size_t count = table.columns.size();
  if (style == TableStyle::markdown) {
    const auto add_row = [&](const std::vector<std::string>& cells) {
      out += "|";
      for (const std::string& cell : cells) out += " " + markdown_cell(cell) + " |";
      out += "\n";
    };
    add_row(table.columns);
    out += "|";
    for (std::size_t i = 0; i < count; ++i) out += is_numeric(table, i) ? "---:|" : "---|";
    out += "\n";
    for (const auto& row : table.rows) add_row(row);
    return out;
  }
  std::vector<std::size_t> widths(count);
  for (std::size_t i = 0; i < count; ++i) {
    widths[i] = width_of(table.columns[i]);
    for (const auto& row : table.rows) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  const auto add_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < count; ++i) line += padded(cells[i], widths[i], is_numeric(table, i)) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_row(table.columns);
  for (const auto& row : table.rows) add_row(row);
  return out;
}

}  // namespace crope::cli
