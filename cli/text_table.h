// A table for people: aligned columns on a terminal, or Markdown for a page.
#pragma once

#include <string>
#include <vector>

namespace crope::cli {

struct TextTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
};

enum class TableStyle { aligned, markdown };

// With a line break at the end of each line. Columns whose cells are all numbers, intervals or "-" are aligned to the
// right.
std::string format_table(const TextTable& table, TableStyle style);

}  // namespace crope::cli
