// Values with their intervals on an axis that shows no more than it has to: one row a name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crope/report/figure.h"

namespace crope::report {

struct IntervalRow {
  std::string label;
  std::string detail;  // second column, muted; empty: none
  double value;
  std::optional<double> margin;  // the interval reaches as far to both sides
  std::vector<double> samples;   // light dots below the interval
  std::string text;              // right of the plot
  Color color = Color::ink;
  bool hollow = false;
};

struct IntervalChart {
  std::string name;
  std::string title;
  std::string x_label;
  std::vector<IntervalRow> rows;
  // A dotted line. Outside of the axis an arrow at the edge points to it, unless `shows_reference` widens the axis.
  std::optional<double> reference;
  std::string reference_text;
  bool shows_reference = false;
  std::string detail_header, text_header;  // above the columns left and right of the plot
  bool signed_tics = false;                // +0.01
  std::vector<std::string> notes;          // lines below
  int width = 460;
};

Figure interval_chart(const IntervalChart& chart);

}  // namespace crope::report
