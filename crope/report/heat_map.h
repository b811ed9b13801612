// A square of attention weights: rows ask, columns answer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "crope/report/figure.h"

namespace crope::report {

struct HeatMap {
  std::string name;
  std::string title;
  std::vector<std::vector<double>> values;    // 0 to 1, the first row at the top
  std::vector<std::string> row_labels;        // as many as rows, or none
  std::vector<std::pair<int, int>> outlined;  // row and column of cells with a frame
  Color color = Color::orange;
  int width = 300, height = 300;
};

Figure heat_map(const HeatMap& map);

}  // namespace crope::report
