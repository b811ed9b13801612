// Curves over one axis, with bands around them and an enlarged part in a corner where wanted.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crope/report/legend.h"

namespace crope::report {

using Points = std::vector<std::pair<double, double>>;

// A point of a band: the range from `low` to `high` at x is shaded.
struct BandPoint {
  double x, low, high;

  bool operator==(const BandPoint&) const = default;
};
using Band = std::vector<BandPoint>;

struct Series {
  std::string label;  // empty: not in the legend
  Points points;
  Color color = Color::ink;
  Dash dash = Dash::solid;
  bool marked = false;  // a dot at every point
  Band band = {};       // behind the line, in its colour
};

// Drawn above the curves in the upper right corner; each labelled curve has its name at its right end.
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
  std::optional<Inset> inset;
  bool legend = true;
  int width = 450, height = 400;
};

Figure line_chart(const LineChart& chart);

// An inset with its tics covers what is right of the first and above the second of these shares of the plotting area.
inline constexpr double kInsetLeft = 0.25, kInsetBottom = 0.36;

// Means over at most `count` bins of neighbouring points: what a figure can show of a long run.
Points thinned(const Points& points, std::size_t count);

// The mean of each point and the `window` - 1 before it.
Points smoothed(const Points& points, std::size_t window);

}  // namespace crope::report
