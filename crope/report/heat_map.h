// A matrix of small squares: attention weights (rows ask, columns answer), or shares by layer and frequency.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "crope/report/figure.h"

namespace crope::report {

struct HeatMap {
  std::string name;
  std::string title;
  std::vector<std::vector<double>> values;    // -1 to 1, the first row at the top; 0 is not drawn
  std::vector<std::string> row_labels;        // as many as rows, or none
  std::vector<std::pair<int, int>> outlined;  // row and column of cells with a frame
  Color color = Color::orange;
  Color negative_color = Color::blue;
  std::string x_label = {}, y_label = {};  // drawn with tics every few rows and columns, unless empty
  std::string alt = {};                    // what is to be seen; empty: attention weights
  int width = 300, height = 300;
};

Figure heat_map(const HeatMap& map);

}  // namespace crope::report
