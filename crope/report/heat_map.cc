#include "crope/report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crope::report {
namespace {

constexpr double kInvisible = 0.004;  // below one step of 8-bit transparency

std::string rectangle(std::size_t row, std::size_t column, double half) {
  const auto x = static_cast<double>(column), y = static_cast<double>(row);
  return fmt::format("set object rectangle from {},{} to {},{}", x - half, y - half, x + half, y + half);
}

}  // namespace

Figure heat_map(const HeatMap& map) {
  const auto rows = map.values.size();
  const auto columns = rows == 0 ? 0 : map.values.front().size();
  const bool labelled = !map.x_label.empty() || !map.y_label.empty();
  const int left = !map.row_labels.empty() ? 72 : labelled ? 52 : 16, bottom = labelled ? 44 : 10;
  std::string commands = fmt::format(
      "set title {} offset 0,-0.4\nunset grid\nunset key\nset border 15 {}\nset xrange [-0.5:{}]\nset yrange "
      "[{}:-0.5]\n"
      "unset xtics\nset ytics scale 0 font ',11'\n"
      "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset tmargin at screen {:.4f}\nset bmargin at screen "
      "{:.4f}\n",
      gnuplot_text(map.title), line_color(Color::shade), std::max(1.0, double(columns)) - 0.5,
      std::max(1.0, double(rows)) - 0.5, double(left) / map.width, 1 - 10.0 / map.width, 1 - 34.0 / map.height,
      double(bottom) / map.height);
  const std::string muted = gnuplot_text(row_of(Color::muted).light);
  if (labelled) {
    commands += fmt::format(
        "set xtics scale 0 font ',11' textcolor rgb {0}\nset ytics textcolor rgb {0}\nset xlabel {1} offset 0,0.6\nset "
        "ylabel {2} offset 0.8,0\n",
        muted, gnuplot_text(map.x_label), gnuplot_text(map.y_label));
  } else if (map.row_labels.empty()) {
    commands += "unset ytics\n";
  }
  if (!map.row_labels.empty()) {
    commands += "set ytics (";
    for (std::size_t m = 0; m < map.row_labels.size(); ++m) {
      commands += fmt::format("{}{} {}", m == 0 ? "" : ", ", gnuplot_text(map.row_labels[m]), m);
    }
    commands += fmt::format(") textcolor rgb {}\n", muted);
  }
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t n = 0; n < map.values[m].size(); ++n) {
      const double value = map.values[m][n];
      if (!(std::abs(value) > kInvisible)) continue;
      const std::string_view hex = row_of(value > 0 ? map.color : map.negative_color).light;
      const int alpha = 255 - static_cast<int>(std::lround(255 * std::min(std::abs(value), 1.0)));
      commands += fmt::format("{} fs solid noborder fc rgb '#{:02x}{}'\n", rectangle(m, n, 0.5), alpha, hex.substr(1));
    }
  }
  for (const auto& [m, n] : map.outlined) {
    commands +=
        fmt::format("{} fs empty border {} lw 1 front\n",
                    rectangle(static_cast<std::size_t>(m), static_cast<std::size_t>(n), 0.42), line_color(Color::ink));
  }
  commands += "plot NaN notitle\n";
  return {.name = map.name,
          .width = map.width,
          .height = map.height,
          .commands = commands,
          .alt = !map.alt.empty()
                     ? map.alt
                     : fmt::format("{}: attention weights of {} positions, rows attend to columns", map.title, rows)};
}

}  // namespace crope::report
