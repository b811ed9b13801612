// Horizontal bars, one row a name: single values with their errors, and sums of parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crope/report/legend.h"

namespace crope::report {

struct Bar {
  std::string label;
  double value;
  double error = 0;  // drawn to both sides
  std::string text;  // to the right, in line with the others
  Color color = Color::ink;
  bool hollow = false;
};

struct BarChart {
  std::string name;
  std::string title;
  std::vector<Bar> bars;
  std::optional<double> reference;  // a dotted line, such as chance
  std::string reference_text;
  int width = 420;
};

Figure bar_chart(const BarChart& chart);

struct StackedPart {
  double value;
  Color color;
  double transparency = 0;
};

struct StackedBar {
  std::string label;
  std::vector<StackedPart> parts;
  std::string text;
};

struct StackedBarChart {
  std::string name;
  std::string title;
  std::vector<StackedBar> bars;
  std::vector<LegendEntry> legend;
  std::optional<double> reference;
  std::optional<double> x_max;
  std::string x_format;  // gnuplot's, of the tics below; empty: no axis
  int width = 450;
};

Figure stacked_bar_chart(const StackedBarChart& chart);

}  // namespace crope::report
