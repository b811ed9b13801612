#include "crope/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crope::report {
namespace {

constexpr int kBelowAxis = 60;  // pixels of tics and label

struct Extent {
  double low = INFINITY, high = -INFINITY;

  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

Extent extent_of(const std::vector<Series>& series, bool of_x) {
  Extent extent;
  for (const Series& each : series) {
    for (const auto& [x, y] : each.points) extent.take(of_x ? x : y);
  }
  return extent;
}

// The extent with a little room, never of zero size.
std::string range_command(const char* axis, Extent extent, double room) {
  if (extent.empty()) extent = {0, 1};
  const double size = extent.high - extent.low;
  const double pad = size > 0 ? room * size : std::max(1e-9, 0.05 * std::abs(extent.low));
  return fmt::format("set {} [{:.9g}:{:.9g}]\n", axis, extent.low - pad, extent.high + pad);
}

// Room for about `count` tics at round numbers: 1, 2 or 5 times a power of ten apart.
std::string tics_command(const char* axis, const Extent& extent, double count) {
  if (extent.empty() || extent.high <= extent.low) return {};
  const double step = (extent.high - extent.low) / count, power = std::pow(10, std::floor(std::log10(step)));
  const double digit = step / power;
  return fmt::format("set {} {:.9g}\n", axis, power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10));
}

// The blocks of data, and the plot command that draws them.
std::string plot_commands(const std::vector<Series>& series, const std::string& prefix, double line_width) {
  std::string blocks, parts;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Series& each = series[i];
    std::vector<std::vector<double>> rows;
    for (const auto& [x, y] : each.points) rows.push_back({x, y});
    if (rows.empty()) continue;
    const std::string name = fmt::format("{}{}", prefix, i);
    blocks += data_block(name, rows);
    parts += fmt::format("{}${} using 1:2 with {} {} {} lw {} notitle", parts.empty() ? "plot " : ", \\\n  ", name,
                         each.marked ? "linespoints pt 7 ps 0.45" : "lines", line_color(each.color),
                         dash_pattern(each.dash), line_width);
  }
  return blocks + (parts.empty() ? "plot NaN notitle" : parts) + "\n";
}

// `bottom` is where it ends, as a share of the figure's height.
std::string inset_commands(const Inset& inset, double bottom) {
  const Extent x = extent_of(inset.series, true), y = extent_of(inset.series, false);
  return fmt::format(
             "unset logscale\nunset xlabel\nunset ylabel\nunset arrow\nunset label\n"
             "set lmargin at screen 0.48\nset rmargin at screen 0.945\nset tmargin at screen 0.83\nset bmargin at "
             "screen {:.4f}\n"
             "set border 15 {}\nset xtics font ',11' offset 0,0.3\nset ytics font ',11'\nset title {} font ',12' "
             "offset 0,-0.7\n",
             bottom, line_color(Color::grid), gnuplot_text(inset.title)) +
         range_command("xrange", x, 0) + range_command("yrange", y, 0.08) + tics_command("xtics", x, 2.5) +
         tics_command("ytics", y, 3) + plot_commands(inset.series, "i", 1.6);
}

}  // namespace

Figure line_chart(const LineChart& chart) {
  std::vector<LegendEntry> entries;
  for (const Series& each : chart.series) {
    if (chart.legend && !each.label.empty())
      entries.push_back({.label = each.label, .color = each.color, .dash = each.dash});
  }
  const Legend foot = legend(entries, chart.width, chart.height);
  const double bottom = static_cast<double>(foot.height + kBelowAxis) / chart.height;
  std::string commands = fmt::format(
      "set title {} offset 0,-0.3\nset xlabel {} offset 0,0.6\nset ylabel {} offset 0.4,0\nunset key\n"
      "set lmargin at screen {:.4f}\nset rmargin at screen 0.955\nset tmargin at screen {:.4f}\nset bmargin at screen "
      "{:.4f}\n",
      gnuplot_text(chart.title), gnuplot_text(chart.x_label), gnuplot_text(chart.y_label), 82.0 / chart.width,
      1 - 36.0 / chart.height, bottom);
  commands += foot.commands;
  if (chart.log_x) {
    commands += "set logscale x 2\nset format x '%.0f'\n";
  } else {
    const Extent x = extent_of(chart.series, true);
    commands += range_command("xrange", x, 0) + tics_command("xtics", x, 4);
  }
  commands += chart.y_range ? fmt::format("set yrange [{}:{}]\n", chart.y_range->first, chart.y_range->second)
                            : range_command("yrange", extent_of(chart.series, false), 0.04);
  if (chart.reference) {
    commands +=
        fmt::format("set arrow from graph 0, first {0:.9g} to graph 1, first {0:.9g} nohead {1} dt (2,3) lw 1.2\n",
                    *chart.reference, line_color(Color::muted));
  }
  if (chart.inset) commands += "set multiplot\n";
  commands += plot_commands(chart.series, "s", 2);
  if (chart.inset) commands += inset_commands(*chart.inset, bottom + 0.46 * (1 - 36.0 / chart.height - bottom));
  std::string alt = chart.title + ": " + chart.y_label + " against " + chart.x_label;
  for (const Series& each : chart.series) {
    if (!each.label.empty()) alt += (&each == &chart.series.front() ? ", for " : ", ") + each.label;
  }
  return {.name = chart.name, .width = chart.width, .height = chart.height, .commands = commands, .alt = alt};
}

Points thinned(const Points& points, std::size_t count) {
  if (points.size() <= count || count == 0) return points;
  Points result;
  for (std::size_t bin = 0; bin < count; ++bin) {
    const std::size_t begin = bin * points.size() / count, end = (bin + 1) * points.size() / count;
    double x = 0, y = 0;
    for (std::size_t i = begin; i < end; ++i) {
      x += points[i].first;
      y += points[i].second;
    }
    const auto size = static_cast<double>(end - begin);
    result.emplace_back(x / size, y / size);
  }
  return result;
}

Points smoothed(const Points& points, std::size_t window) {
  Points result;
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    sum += points[i].second;
    if (i >= window) sum -= points[i - window].second;
    result.emplace_back(points[i].first, sum / static_cast<double>(std::min(i + 1, window)));
  }
  return result;
}

}  // namespace crope::report
