#include "crope/report/matrix_picture.h"

#include <fmt/format.h>

#include <cmath>

namespace crope::report {
namespace {

constexpr double kBlockGap = 0.22;

// Where entry i of a row or column begins, with a gap after every second one.
double place(std::size_t i) {
  return static_cast<double>(i) + kBlockGap * static_cast<double>(i / 2);
}

std::string cell(double x, double y, const std::string& text, Color color) {
  const std::string_view hex = row_of(color).light;
  return fmt::format(
      "set object rectangle from {0:.4f},{1:.4f} to {2:.4f},{3:.4f} fs solid 1.0 border lc rgb '{4}' lw 1.2 fc rgb "
      "'#d0{5}'\n"
      "set label {6} at {7:.4f},{8:.4f} center front textcolor rgb '{4}'\n",
      x + 0.06, y + 0.06, x + 0.94, y + 0.94, hex, hex.substr(1), gnuplot_text(text), x + 0.5, y + 0.5);
}

std::string blank_axes(double x_low, double x_high, double y_low, double y_high) {
  return fmt::format(
      "unset border\nunset tics\nunset grid\nunset key\nset xrange [{}:{}]\nset yrange [{}:{}]\n"
      "set lmargin 0.5\nset rmargin 0.5\nset tmargin 2.2\nset bmargin 2\n",
      x_low, x_high, y_low, y_high);
}

std::string note_label(const std::string& note) {
  return note.empty() ? ""
                      : fmt::format("set label {} at screen 0.5, character 1.1 center textcolor rgb {}\n",
                                    gnuplot_text(note), gnuplot_text(row_of(Color::muted).light));
}

}  // namespace

Figure matrix_picture(const MatrixPicture& picture) {
  const std::size_t rows = picture.entries.size(), columns = picture.vector.size();
  const double width = place(columns) + 2.2, height = place(rows);
  std::string commands =
      blank_axes(-0.2, width, height + 0.1, -0.2) + fmt::format("set title {}\n", gnuplot_text(picture.title));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < picture.entries[i].size(); ++j) {
      commands += cell(place(j), place(i), picture.entries[i][j].text, picture.entries[i][j].color);
    }
  }
  commands += fmt::format("set label '·' at {:.3f},{:.3f} center font ',22' textcolor rgb {}\n", place(columns) + 0.35,
                          height / 2, gnuplot_text(row_of(Color::ink).light));
  for (std::size_t j = 0; j < columns; ++j)
    commands += cell(place(columns) + 0.8, place(j), picture.vector[j], Color::muted);
  commands += note_label(picture.note) + "plot NaN notitle\n";
  return {.name = picture.name,
          .width = 440,
          .height = 330,
          .commands = commands,
          .alt = picture.title + ": " + picture.note};
}

Figure plane_picture(const PlanePicture& picture) {
  const double r = picture.radius;
  std::string commands =
      blank_axes(-r, r, -r, r) + fmt::format("set size ratio -1\nset title {}\n", gnuplot_text(picture.title));
  commands +=
      fmt::format("set arrow from {0},0 to {1},0 nohead lw 1 {2}\nset arrow from 0,{0} to 0,{1} nohead lw 1 {2}\n", -r,
                  r, line_color(Color::grid));
  const double mirror = std::hypot(picture.mirror[0], picture.mirror[1]);
  if (mirror > 0) {
    const double x = r * picture.mirror[0] / mirror, y = r * picture.mirror[1] / mirror;
    commands += fmt::format("set arrow from {:.4f},{:.4f} to {:.4f},{:.4f} nohead lw 1.3 dt (5,4) {}\n", -x, -y, x, y,
                            line_color(Color::shade));
  }
  for (const PlaneArrow& arrow : picture.arrows) {
    commands += fmt::format("set arrow from 0,0 to {:.5f},{:.5f} head filled size screen 0.05,18 lw {} {} {}\n",
                            arrow.x, arrow.y, arrow.faint ? 1.4 : 2.6,
                            arrow.faint ? line_color(arrow.color, 0.6) : line_color(arrow.color),
                            arrow.faint ? "dt (3,3)" : "");
    if (!arrow.label.empty()) {
      const double length = std::max(1e-9, std::hypot(arrow.x, arrow.y)), reach = length + 0.14;
      commands +=
          fmt::format("set label {} at {:.5f},{:.5f} center textcolor rgb {}\n", gnuplot_text(arrow.label),
                      arrow.x / length * reach, arrow.y / length * reach, gnuplot_text(row_of(arrow.color).light));
    }
  }
  commands += note_label(picture.note) + "plot NaN notitle\n";
  return {.name = picture.name,
          .width = 250,
          .height = 290,
          .commands = commands,
          .alt = picture.title + ": " + picture.note};
}

}  // namespace crope::report
