// Curves over one axis, with a part of them enlarged in a corner where asked for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crope/report/legend.h"

namespace crope::report {

using Points = std::vector<std::pair<double, double>>;

struct Series {
  std::string label;  // empty: not in the legend
  Points points;
  Color color = Color::ink;
  Dash dash = Dash::solid;
  bool marked = false;  // a dot at every point
};

struct Inset {
  std::string title;
  std::vector<Series> series;
};

struct LineChart {
  std::string name;
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series;
  bool log_x = false;  // to base 2
  std::optional<std::pair<double, double>> y_range;
  std::optional<double> reference;  // a dotted level
  std::optional<Inset> inset;       // in the upper right corner
  bool legend = true;
  int width = 450, height = 400;
};

Figure line_chart(const LineChart& chart);

// Means over at most `count` bins of neighbouring points: what a figure can show of a long run.
Points thinned(const Points& points, std::size_t count);

// The mean of each point and the `window` - 1 before it.
Points smoothed(const Points& points, std::size_t window);

}  // namespace crope::report
