#include "crope/report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crope::report {
namespace {

constexpr int kRowHeight = 30;
constexpr double kHalfBar = 0.34;

struct Frame {
  std::string commands;
  int height;
};

// Margins that hold the longest name and the longest text at a bar's end; rows from the top.
template <typename Row>
Frame frame(const std::string& title, const std::vector<Row>& rows, double x_max, int width, int space_below) {
  int left = 30, right = 20;
  for (const Row& row : rows) {
    left = std::max(left, text_width(row.label) + 16);
    right = std::max(right, text_width(row.text) + 14);
  }
  const auto n = static_cast<int>(rows.size());
  const int height = 44 + n * kRowHeight + space_below;
  std::string commands = fmt::format(
      "set title {}\nset lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset tmargin at screen {:.4f}\n"
      "set bmargin at screen {:.4f}\nset xrange [0:{:.9g}]\nset yrange [{}:0.4]\nunset grid\nunset key\nset border 2\n"
      "set xtics scale 0\nset ytics scale 0 (",
      gnuplot_text(title), double(left) / width, 1 - double(right) / width, 1 - 40.0 / height,
      double(space_below) / height, x_max, n + 0.6);
  for (int i = 0; i < n; ++i) {
    commands +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_text(rows[static_cast<std::size_t>(i)].label), i + 1);
  }
  commands += fmt::format(") textcolor rgb {}\n", gnuplot_text(row_of(Color::ink).light));
  return {commands, height};
}

std::string rectangle(double from, double to, int row, const std::string& style) {
  return fmt::format("set object rectangle from first {:.9g}, first {} to first {:.9g}, first {} {}\n", from,
                     row - kHalfBar, to, row + kHalfBar, style);
}

// `at` is "first 3.5" or "graph 1".
std::string end_text(const std::string& text, const std::string& at, int row) {
  return text.empty() ? ""
                      : fmt::format("set label {} at {}, first {} left offset char 0.7,0 textcolor rgb {}\n",
                                    gnuplot_text(text), at, row, gnuplot_text(row_of(Color::ink).light));
}

std::string reference_line(std::optional<double> reference, const std::string& text) {
  if (!reference) return {};
  std::string line =
      fmt::format("set arrow from first {0:.9g}, graph 0 to first {0:.9g}, graph 1 nohead front {1} dt (2,3) lw 1.4\n",
                  *reference, line_color(Color::muted));
  if (!text.empty()) {
    line += fmt::format("set label {} at first {:.9g}, graph 0 center offset char 0,-0.8 font ',12' textcolor rgb {}\n",
                        gnuplot_text(text), *reference, gnuplot_text(row_of(Color::muted).light));
  }
  return line;
}

std::string fill_style(Color color, double transparency) {
  const int alpha = static_cast<int>(std::lround(255 * transparency));
  return fmt::format("fc rgb '#{:02x}{}'", alpha, row_of(color).light.substr(1));
}

}  // namespace

Figure bar_chart(const BarChart& chart) {
  double x_max = 0;
  for (const Bar& bar : chart.bars) x_max = std::max(x_max, bar.value + bar.error);
  if (chart.reference) x_max = std::max(x_max, *chart.reference);
  if (!(x_max > 0)) x_max = 1;
  Frame made = frame(chart.title, chart.bars, 1.02 * x_max, chart.width, chart.reference_text.empty() ? 12 : 30);
  std::string& commands = made.commands;
  commands += "unset xtics\n";
  std::string alt = chart.title + ":";
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const int row = static_cast<int>(i) + 1;
    const std::string border =
        fmt::format("fs {} border {} lw 1.5", bar.hollow ? "solid 0.18" : "solid 1.0", line_color(bar.color));
    commands +=
        rectangle(0, bar.value, row,
                  fill_style(bar.color, bar.hollow ? 0.8 : 0.1) + " " + border + (bar.hollow ? " dt (4,3)" : ""));
    if (bar.error > 0) {
      commands += fmt::format(
          "set arrow from first {:.9g}, first {} to first {:.9g}, first {} heads size screen 0.008,90 front lw 1.4 "
          "{}\n",
          std::max(0.0, bar.value - bar.error), row, bar.value + bar.error, row, line_color(Color::ink));
    }
    commands += end_text(bar.text, "graph 1", row);
    alt += fmt::format(" {} {};", bar.label, bar.text);
  }
  commands += reference_line(chart.reference, chart.reference_text) + "plot NaN notitle\n";
  return {.name = chart.name, .width = chart.width, .height = made.height, .commands = commands, .alt = alt};
}

Figure stacked_bar_chart(const StackedBarChart& chart) {
  double x_max = chart.x_max.value_or(0);
  for (const StackedBar& bar : chart.bars) {
    double sum = 0;
    for (const StackedPart& part : bar.parts) sum += part.value;
    x_max = std::max(x_max, sum);
  }
  if (!(x_max > 0)) x_max = 1;
  const bool axis = !chart.x_format.empty();
  Frame made =
      frame(chart.title, chart.bars, x_max, chart.width, (axis ? 40 : 12) + legend_height(chart.legend, chart.width));
  std::string& commands = made.commands;
  commands += axis ? fmt::format("set xtics format {} scale 0.4\nset border 3\n", gnuplot_text(chart.x_format))
                   : "unset xtics\n";
  std::string alt = chart.title + ":";
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const StackedBar& bar = chart.bars[i];
    const int row = static_cast<int>(i) + 1;
    double x = 0;
    for (const StackedPart& part : bar.parts) {
      commands += rectangle(x, x + part.value, row, fill_style(part.color, part.transparency) + " fs solid noborder");
      x += part.value;
    }
    commands += end_text(bar.text, fmt::format("first {:.9g}", x), row);
    alt += fmt::format(" {} {};", bar.label, bar.text);
  }
  commands += reference_line(chart.reference, "");
  commands += legend(chart.legend, chart.width, made.height).commands + "plot NaN notitle\n";
  return {.name = chart.name, .width = chart.width, .height = made.height, .commands = commands, .alt = alt};
}

}  // namespace crope::report
