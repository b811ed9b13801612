// A figure: gnuplot commands, drawn as SVG (for the page, in the page's colours) and as PNG.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "crope/report/palette.h"

namespace crope::report {

struct Figure {
  std::string name;  // of its files: letters, digits, '_' and '-'
  int width;         // of the SVG, in CSS pixels; the PNG has twice as many
  int height;
  std::string commands;  // everything but terminal and output
  std::string alt;       // what is to be seen, in words
  // Filled shapes have soft edges. Without, neighbours show no seam, but round shapes are ragged.
  bool soft_edges = false;
};

struct DrawnFigure {
  std::string name;
  int width;
  std::string svg;  // to stand inside a page that has palette_css()
  std::string alt;
};

// Draws `figure` and writes name.svg and name.png into the folder `dir`.
// Throws Error with a hint if there is no gnuplot, and with what gnuplot said if it does not take the commands.
DrawnFigure draw(const Figure& figure, const std::filesystem::path& dir);

// `text` as a string of gnuplot's that stands for itself: no escapes, no macros, no shell; control characters become
// spaces.
std::string gnuplot_text(std::string_view text);

// lc rgb '#0072b2', and the same with a share of transparency (0 opaque, 1 not there).
std::string line_color(Color color);
std::string line_color(Color color, double transparency);

// `$name << EOD` with a row of numbers a line.
std::string data_block(std::string_view name, const std::vector<std::vector<double>>& rows);

}  // namespace crope::report
