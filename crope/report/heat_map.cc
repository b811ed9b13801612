#include "crope/report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crope::report {
namespace {

constexpr double kInvisible = 0.004;  // below one step of 8-bit transparency

}  // namespace

Figure heat_map(const HeatMap& map) {
  const auto rows = map.values.size();
  const auto columns = rows == 0 ? 0 : map.values.front().size();
  const int left = map.row_labels.empty() ? 16 : 72;
  std::string commands = fmt::format(
      "set title {} offset 0,-0.4\nunset grid\nunset key\nset border 15 {}\nset xrange [-0.5:{}]\nset yrange "
      "[{}:-0.5]\n"
      "unset xtics\nset ytics scale 0 font ',11'\n"
      "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset tmargin at screen {:.4f}\nset bmargin at screen "
      "{:.4f}\n",
      gnuplot_text(map.title), line_color(Color::shade), std::max(1.0, double(columns)) - 0.5,
      std::max(1.0, double(rows)) - 0.5, double(left) / map.width, 1 - 10.0 / map.width, 1 - 34.0 / map.height,
      10.0 / map.height);
  if (map.row_labels.empty()) {
    commands += "unset ytics\n";
  } else {
    commands += "set ytics (";
    for (std::size_t m = 0; m < map.row_labels.size(); ++m) {
      commands += fmt::format("{}{} {}", m == 0 ? "" : ", ", gnuplot_text(map.row_labels[m]), m);
    }
    commands += fmt::format(") textcolor rgb {}\n", gnuplot_text(row_of(Color::muted).light));
  }
  const std::string_view hex = row_of(map.color).light;
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t n = 0; n < map.values[m].size(); ++n) {
      const double value = map.values[m][n];
      if (!(value > kInvisible)) continue;
      const int alpha = 255 - static_cast<int>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
      commands += fmt::format("set object rectangle from {},{} to {},{} fs solid noborder fc rgb '#{:02x}{}'\n",
                              double(n) - 0.5, double(m) - 0.5, double(n) + 0.5, double(m) + 0.5, alpha, hex.substr(1));
    }
  }
  for (const auto& [m, n] : map.outlined) {
    commands += fmt::format("set object rectangle from {},{} to {},{} fs empty border {} lw 1 front\n", n - 0.42,
                            m - 0.42, n + 0.42, m + 0.42, line_color(Color::ink));
  }
  commands += "plot NaN notitle\n";
  return {.name = map.name,
          .width = map.width,
          .height = map.height,
          .commands = commands,
          .alt = fmt::format("{}: attention weights of {} positions, rows attend to columns", map.title, rows)};
}

}  // namespace crope::report
