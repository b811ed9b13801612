#include "crope/report/figure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/scratch_folder.h"

extern char** environ;

namespace crope::report {
namespace fs = std::filesystem;
namespace {

constexpr int kPngScale = 2;
constexpr int kFontSize = 14;  // pixels to the SVG terminal; the PNG terminal counts in points
constexpr double kPointsPerPixel = 0.75;
constexpr std::string_view kFontCss = "text,tspan{font-family:'Helvetica Neue',Helvetica,Arial,sans-serif}";

// What every figure begins with: thin axes on the left and below, a light grid, no box around the key.
std::string prelude() {
  const std::string muted = gnuplot_text(row_of(Color::muted).light), ink = gnuplot_text(row_of(Color::ink).light);
  return fmt::format(
      "set encoding utf8\n"
      "set border 3 lw 1 lc rgb {0}\n"
      "set tics nomirror out scale 0.5 textcolor rgb {0}\n"
      "set xlabel textcolor rgb {0}\nset ylabel textcolor rgb {0}\n"
      "set grid ytics lw 1 lc rgb {2} dt solid\n"
      "set key noopaque nobox samplen 2.2 spacing 1.15 textcolor rgb {1}\n"
      "set title textcolor rgb {1}\n"
      "set style textbox noborder\n",
      muted, ink, gnuplot_text(row_of(Color::grid).light));
}

std::string script_of(const Figure& figure, const ScratchFolder& folder) {
  const std::string body = prelude() + figure.commands;
  return fmt::format(
      "set terminal svg noenhanced size {0},{1} dynamic font 'sans-serif,{2}' name '{3}' dashlength 1.0\n"
      "set output {4}\n{5}\nunset multiplot\nset output\nreset session\n"
      "set terminal pngcairo noenhanced size {6},{7} font 'sans,{2}' fontscale {8} linewidth {9} pointscale {9} "
      "dashlength 1.0\n"
      "set output {10}\n{5}\nunset multiplot\nset output\n",
      figure.width, figure.height, kFontSize, figure.name, gnuplot_text((folder / "figure.svg").string()), body,
      kPngScale * figure.width, kPngScale * figure.height, kPngScale * kPointsPerPixel, kPngScale,
      gnuplot_text((folder / "figure.png").string()));
}

// Runs gnuplot on a script and returns what it complained about.
std::string run_gnuplot(const fs::path& script, const fs::path& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::string program = "gnuplot", defaults = "--default-settings", path = script.string();
  char* const arguments[] = {program.data(), defaults.data(), path.data(), nullptr};
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  const char* hint =
      "figures need gnuplot: scripts/setup.sh installs it, or your package manager (Debian: gnuplot-nox)";
  if (failure == ENOENT) throw Error("gnuplot was not found in PATH", hint);
  if (failure != 0) throw Error(fmt::format("gnuplot cannot be started: {}", std::strerror(failure)), hint);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) throw Error("gnuplot was not found in PATH", hint);
  const std::string said = read_file(messages);
  return said.empty() ? "it printed no error message" : said;
}

// The <svg> element alone, named as a picture, in the page's colours and with names of its own for shared shapes.
std::string page_svg(const Figure& figure, const std::string& file) {
  const std::size_t begin = file.find("<svg");
  if (begin == file.npos) throw Error(fmt::format("figure {}: gnuplot made no SVG", figure.name));
  std::string svg = with_css_colors(std::string_view(file).substr(begin));
  for (const char* shape : {"gpDot", "gpPt"}) {
    for (std::size_t at = svg.find(shape); at != svg.npos; at = svg.find(shape, at)) {
      svg.insert(at, figure.name + "_");
      at += figure.name.size() + 1 + std::strlen(shape);
    }
  }
  if (figure.soft_edges) {
    constexpr std::string_view kCrisp = " shape-rendering='crispEdges'";
    for (std::size_t at = svg.find(kCrisp); at != svg.npos; at = svg.find(kCrisp, at)) svg.erase(at, kCrisp.size());
  }
  std::string alt;
  for (const char c : figure.alt)
    alt += c == '"' ? "&quot;" : c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  svg.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\"", alt));
  return svg;
}

}  // namespace

std::string gnuplot_text(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "''";
    else
      result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "'";
}

std::string line_color(Color color) {
  return fmt::format("lc rgb {}", gnuplot_text(row_of(color).light));
}

std::string line_color(Color color, double transparency) {
  const int alpha = static_cast<int>(std::lround(255 * std::clamp(transparency, 0.0, 1.0)));
  return fmt::format("lc rgb '#{:02x}{}'", alpha, row_of(color).light.substr(1));
}

std::string data_block(std::string_view name, const std::vector<std::vector<double>>& rows) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const std::vector<double>& row : rows) {
    for (const double value : row) block += std::isfinite(value) ? fmt::format("{:.7g} ", value) : std::string("NaN ");
    block += "\n";
  }
  return block + "EOD\n";
}

DrawnFigure draw(const Figure& figure, const fs::path& dir) {
  const bool plain =
      std::ranges::all_of(figure.name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
  if (figure.name.empty() || !plain) {
    throw Error(fmt::format("figure '{}': expected a name of letters, digits, '_' and '-'", figure.name));
  }
  const ScratchFolder folder("crope_figure");
  write_file(folder / "figure.gp", script_of(figure, folder));
  const std::string complaint = run_gnuplot(folder / "figure.gp", folder / "messages");
  if (!complaint.empty()) throw Error(fmt::format("figure {}: gnuplot failed: {}", figure.name, complaint));
  const std::string svg = page_svg(figure, read_file(folder / "figure.svg"));
  std::string standalone = svg;
  standalone.insert(standalone.find('>') + 1, "<style>" + palette_css() + std::string(kFontCss) + "</style>");
  write_file(dir / (figure.name + ".svg"), "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + standalone);
  write_file(dir / (figure.name + ".png"), read_file(folder / "figure.png"));
  return {.name = figure.name, .width = figure.width, .svg = svg, .alt = figure.alt};
}

}  // namespace crope::report
