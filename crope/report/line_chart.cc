#include "crope/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/report/axis.h"
#include "crope/report/label_layout.h"

namespace crope::report {
namespace {

constexpr int kLeft = 82, kTop = 36, kBelowAxis = 60;  // pixels: tics and labels, title, tics and label
constexpr double kRight = 0.955;
constexpr double kBandTransparency = 0.82;

Extent extent_of(const std::vector<Series>& series, bool of_x) {
  Extent extent;
  for (const Series& each : series) {
    for (const auto& [x, y] : each.points) extent.take(of_x ? x : y);
    for (const BandPoint& point : each.band) {
      extent.take(of_x ? point.x : point.low);
      extent.take(of_x ? point.x : point.high);
    }
  }
  return extent;
}

// The blocks of data, and the plot command that draws them.
std::string plot_commands(const std::vector<Series>& series, const std::string& prefix, double line_width) {
  std::string blocks, parts;
  const auto separator = [&] { return parts.empty() ? "plot " : ", \\\n  "; };
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::vector<std::vector<double>> rows;
    for (const BandPoint& point : series[i].band) rows.push_back({point.x, point.low, point.high});
    if (rows.empty()) continue;
    const std::string name = fmt::format("{}band{}", prefix, i);
    blocks += data_block(name, rows);
    parts += fmt::format("{}${} using 1:2:3 with filledcurves fs solid noborder f{} notitle", separator(), name,
                         line_color(series[i].color, kBandTransparency).substr(1));
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Series& each = series[i];
    std::vector<std::vector<double>> rows;
    for (const auto& [x, y] : each.points) rows.push_back({x, y});
    if (rows.empty()) continue;
    const std::string name = fmt::format("{}{}", prefix, i);
    blocks += data_block(name, rows);
    parts += fmt::format("{}${} using 1:2 with {} {} {} lw {} notitle", separator(), name,
                         each.marked ? "linespoints pt 7 ps 0.35" : "lines", line_color(each.color),
                         dash_pattern(each.dash), line_width);
  }
  return blocks + (parts.empty() ? "plot NaN notitle" : parts) + "\n";
}

// Names at the right ends of the curves, spread where they would touch, each with a line to its curve. The inset is
// `height` pixels high.
std::string end_labels(const std::vector<Series>& series, const Extent& y, double height) {
  constexpr double kGap = 14;
  std::vector<double> wanted;
  std::vector<const Series*> labelled;
  for (const Series& each : series) {
    if (each.label.empty() || each.points.empty() || !std::isfinite(each.points.back().second)) continue;
    labelled.push_back(&each);
    wanted.push_back((each.points.back().second - y.low) / y.size() * height);
  }
  const std::vector<double> placed = spread_labels(wanted, kGap, 0, height);
  std::string commands;
  for (std::size_t i = 0; i < labelled.size(); ++i) {
    const Series& each = *labelled[i];
    commands += fmt::format(
        "set arrow from graph 1, graph {:.4f} to graph 1.08, graph {:.4f} nohead front lt 1 {} lw 1.2\n"
        "set label {} at graph 1.1, graph {:.4f} left front font ',11' textcolor rgb {}\n",
        wanted[i] / height, placed[i] / height, line_color(each.color), gnuplot_text(each.label), placed[i] / height,
        gnuplot_text(row_of(each.color).light));
  }
  return commands;
}

// `bottom` is where the chart's plotting area begins, in pixels.
std::string inset_commands(const Inset& inset, const LineChart& chart, int bottom) {
  int labels = 0;
  for (const Series& each : inset.series) labels = std::max(labels, text_width(each.label) * 4 / 5);
  const Extent x = extent_of(inset.series, true).padded(0), y = extent_of(inset.series, false).padded(0.06);
  const double area_width = kRight * chart.width - kLeft, area_height = chart.height - kTop - bottom;
  const double left = kLeft + kInsetLeft * area_width + 50;
  // The lines to the labels take about a tenth of the inset's width.
  const double right = kRight * chart.width - (labels == 0 ? 4 : labels + 0.1 * (area_width - labels) / 2 + 4);
  const double low = bottom + kInsetBottom * area_height + 26, high = chart.height - kTop - 24;
  return fmt::format(
             "unset logscale\nunset xlabel\nunset ylabel\nunset arrow\nunset label\nunset object\n"
             "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset tmargin at screen {:.4f}\nset bmargin at "
             "screen {:.4f}\n"
             "set border 15 {}\nset xtics font ',11' offset 0,0.3\nset ytics font ',11'\nset title {} font ',12' "
             "offset 0,-0.7\n",
             left / chart.width, right / chart.width, high / chart.height, low / chart.height, line_color(Color::shade),
             gnuplot_text(inset.title)) +
         range_command("xrange", x) + range_command("yrange", y) + tics_command("xtics", x, 2.5) +
         tics_command("ytics", y, 4) + end_labels(inset.series, y, high - low) + plot_commands(inset.series, "i", 1.5);
}

}  // namespace

Figure line_chart(const LineChart& chart) {
  std::vector<LegendEntry> entries;
  for (const Series& each : chart.series) {
    if (chart.legend && !each.label.empty())
      entries.push_back({.label = each.label, .color = each.color, .dash = each.dash});
  }
  const Legend foot = legend(entries, chart.width, chart.height);
  const int bottom = foot.height + kBelowAxis;
  std::string commands = fmt::format(
      "set title {} offset 0,-0.3\nset xlabel {} offset 0,0.6\nset ylabel {} offset 0.4,0\nunset key\n"
      "set lmargin at screen {:.4f}\nset rmargin at screen {}\nset tmargin at screen {:.4f}\nset bmargin at screen "
      "{:.4f}\n",
      gnuplot_text(chart.title), gnuplot_text(chart.x_label), gnuplot_text(chart.y_label), double(kLeft) / chart.width,
      kRight, 1 - double(kTop) / chart.height, double(bottom) / chart.height);
  commands += foot.commands;
  if (chart.log_x) {
    commands += "set logscale x 2\nset format x '%.0f'\n";
  } else {
    const Extent x = extent_of(chart.series, true);
    commands += range_command("xrange", x.padded(0)) + tics_command("xtics", x, 4);
  }
  commands += chart.y_range ? fmt::format("set yrange [{}:{}]\n", chart.y_range->first, chart.y_range->second)
                            : range_command("yrange", extent_of(chart.series, false).padded(0.04));
  if (chart.reference) {
    commands +=
        fmt::format("set arrow from graph 0, first {0:.9g} to graph 1, first {0:.9g} nohead {1} dt (2,3) lw 1.2\n",
                    *chart.reference, line_color(Color::muted));
  }
  if (chart.inset) commands += "set multiplot\nunset grid\n";  // the grid would show through the inset
  commands += plot_commands(chart.series, "s", 2);
  if (chart.inset) commands += inset_commands(*chart.inset, chart, bottom);
  std::string alt = chart.title + ": " + chart.y_label + " against " + chart.x_label;
  for (const Series& each : chart.series) {
    if (!each.label.empty()) alt += (&each == &chart.series.front() ? ", for " : ", ") + each.label;
  }
  return {.name = chart.name,
          .width = chart.width,
          .height = chart.height,
          .commands = commands,
          .alt = alt,
          .soft_edges = true};
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
