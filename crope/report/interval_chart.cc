#include "crope/report/interval_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/report/axis.h"
#include "crope/report/legend.h"

namespace crope::report {
namespace {

constexpr int kTitle = 36, kRow = 34, kTics = 26, kLine = 20;  // heights in pixels
constexpr int kTextGap = 14;
constexpr double kMarker = 5.5, kDot = 2.6;  // radii in pixels
constexpr double kRoom = 0.08;               // of the axis, free at both ends
constexpr double kRounding = 1e-6;           // values closer than this are one point on the axis
constexpr double kLeastRoom = 0.01;          // around a single point
constexpr double kMostWidening = 1.6;        // of the axis, to show the reference
constexpr double kSampleOffset = 0.3;        // of a row, below its middle
constexpr double kSampleTransparency = 0.5;

struct IntervalLayout {
  int left, detail, right;  // margins, and where the second column begins
  int above, below;         // the rows
  int height;
  Extent x;
  bool has_reference;  // in view

  double pixels_per_unit(int width) const { return (width - left - right) / x.size(); }
};

std::string ink(Color color) {
  return gnuplot_text(row_of(color).light);
}

// As text_width(), in the small font.
int small_width(const std::string& text) {
  return text_width(text) * 6 / 7;
}

Extent axis_of(const IntervalChart& chart) {
  Extent values;
  for (const IntervalRow& row : chart.rows) {
    values.take(row.value - row.margin.value_or(0));
    values.take(row.value + row.margin.value_or(0));
    for (const double sample : row.samples) values.take(sample);
  }
  if (chart.reference && !values.empty()) {
    Extent wider = values;
    wider.take(*chart.reference);
    if (chart.shows_reference || wider.size() <= kMostWidening * values.size()) values = wider;
  }
  const bool is_point = !values.empty() && values.size() < kRounding;
  return is_point ? Extent(values.low - kLeastRoom, values.high + kLeastRoom) : values.padded(kRoom);
}

IntervalLayout interval_layout(const IntervalChart& chart) {
  IntervalLayout layout{.left = 30, .detail = 0, .right = 24, .x = axis_of(chart)};
  int label = 0, detail = small_width(chart.detail_header);
  layout.right = std::max(layout.right, small_width(chart.text_header) + kTextGap + 8);
  for (const IntervalRow& row : chart.rows) {
    label = std::max(label, text_width(row.label));
    detail = std::max(detail, text_width(row.detail));
    layout.right = std::max(layout.right, text_width(row.text) + kTextGap + 12);
  }
  layout.detail = 8 + label + 8;
  layout.left = std::max(layout.left, layout.detail + (detail > 0 ? detail + 10 : 4));
  layout.has_reference = chart.reference && *chart.reference >= layout.x.low && *chart.reference <= layout.x.high;
  const bool has_line_above =
      !chart.reference_text.empty() || !chart.detail_header.empty() || !chart.text_header.empty();
  layout.above = kTitle + (has_line_above ? kLine : 0);
  layout.below = kTics + (chart.x_label.empty() ? 0 : kLine) + kLine * static_cast<int>(chart.notes.size()) + 6;
  layout.height = layout.above + kRow * std::max(1, static_cast<int>(chart.rows.size())) + layout.below;
  return layout;
}

std::string circle(double x, double y, double radius, int width, const std::string& style) {
  return fmt::format("set object circle at first {:.9g}, first {:.9g} size screen {:.6f} front {}\n", x, y,
                     radius / width, style);
}

std::string segment(double from, double to, double y, Color color) {
  if (!(to > from)) return {};
  return fmt::format("set arrow from first {:.9g}, first {} to first {:.9g}, first {} nohead front lt 1 {} lw 2.4\n",
                     from, y, to, y, line_color(color));
}

std::string label_at(const std::string& text, const std::string& at, const char* align, Color color,
                     const char* font = "") {
  return text.empty() ? ""
                      : fmt::format("set label {} at {} {} front {} textcolor rgb {}\n", gnuplot_text(text), at, align,
                                    font, ink(color));
}

std::string row_commands(const IntervalRow& row, int y, const IntervalLayout& layout, int width) {
  std::string commands;
  for (const double sample : row.samples) {
    commands += circle(sample, y + kSampleOffset, kDot, width,
                       "f" + line_color(row.color, kSampleTransparency).substr(1) + " fs solid noborder");
  }
  // The interval ends at the marker's rim: a hollow one shows the page.
  const double rim = kMarker / layout.pixels_per_unit(width);
  if (row.margin) {
    commands += segment(row.value - *row.margin, row.value - rim, y, row.color);
    commands += segment(row.value + rim, row.value + *row.margin, y, row.color);
  }
  commands += circle(row.value, y, row.hollow ? kMarker - 1 : kMarker, width,
                     row.hollow ? fmt::format("f{} fs solid 1 border {} lw 2", line_color(row.color, 1).substr(1),
                                              line_color(row.color))
                                : fmt::format("f{} fs solid noborder", line_color(row.color).substr(1)));
  const auto x_of = [&](int pixels) { return fmt::format("screen {:.5f}, first {}", double(pixels) / width, y); };
  commands += label_at(row.label, x_of(8), "left", Color::ink);
  commands += label_at(row.detail, x_of(layout.detail), "left", Color::muted);
  commands += label_at(row.text, x_of(width - layout.right + kTextGap), "left", Color::ink);
  return commands;
}

std::string reference_commands(const IntervalChart& chart, const IntervalLayout& layout) {
  if (!chart.reference) return {};
  const double line = 1 - double(kTitle + kLine / 2) / layout.height;
  if (!layout.has_reference) {
    const bool is_left = *chart.reference < layout.x.low;
    const std::string text = is_left ? "← " + chart.reference_text : chart.reference_text + " →";
    return label_at(text, fmt::format("graph {}, screen {:.5f}", is_left ? 0 : 1, line), is_left ? "left" : "right",
                    Color::muted, "font ',12'");
  }
  return fmt::format(
             "set arrow from first {0:.9g}, graph 0 to first {0:.9g}, graph 1 nohead back lt 1 {1} dt (2,3) lw 1.6\n",
             *chart.reference, line_color(Color::muted)) +
         label_at(chart.reference_text, fmt::format("first {:.9g}, screen {:.5f}", *chart.reference, line), "center",
                  Color::muted, "font ',12'");
}

std::string tics(const IntervalChart& chart, const IntervalLayout& layout) {
  const double room = std::max(40, chart.width - layout.left - layout.right);
  const double step = round_step(layout.x, std::max(1.5, room / 70));
  const int digits = decimals(step);
  std::string commands = "set xtics scale 0.4 offset 0,0.35 (";
  bool is_first = true;
  for (double i = std::ceil(layout.x.low / step - 1e-6); i <= layout.x.high / step + 1e-6; ++i) {
    const double value = i * step;
    const std::string text = i == 0              ? "0"
                             : chart.signed_tics ? fmt::format("{}{:.{}f}", i > 0 ? "+" : "−", std::abs(value), digits)
                                                 : fmt::format("{:.{}f}", value, digits);
    commands += fmt::format("{}{} {:.9g}", is_first ? "" : ", ", gnuplot_text(text), value);
    is_first = false;
  }
  return commands + fmt::format(") font ',12' textcolor rgb {}\n", ink(Color::muted));
}

}  // namespace

Figure interval_chart(const IntervalChart& chart) {
  const IntervalLayout layout = interval_layout(chart);
  const auto count = std::max(1, static_cast<int>(chart.rows.size()));
  const auto height_at = [&](double pixels) { return pixels / layout.height; };
  std::string commands = fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset tmargin at screen {:.5f}\n"
      "set bmargin at screen {:.5f}\nset yrange [{}:0.5]\nunset key\nset border 1\nunset ytics\n"
      "set grid noytics xtics lw 1 {} dt solid\n",
      double(layout.left) / chart.width, 1 - double(layout.right) / chart.width, 1 - height_at(layout.above),
      height_at(layout.below), count + 0.5, line_color(Color::grid));
  commands += range_command("xrange", layout.x) + tics(chart, layout);
  commands += label_at(chart.title, fmt::format("screen 0.5, screen {:.5f}", 1 - height_at(kTitle / 2.0)), "center",
                       Color::ink);
  double y = layout.below - kTics - kLine / 2.0;
  if (!chart.x_label.empty()) {
    commands += label_at(chart.x_label, fmt::format("graph 0.5, screen {:.5f}", height_at(y)), "center", Color::muted,
                         "font ',12'");
    y -= kLine;
  }
  for (const std::string& note : chart.notes) {
    commands +=
        label_at(note, fmt::format("screen 0.5, screen {:.5f}", height_at(y)), "center", Color::muted, "font ',12'");
    y -= kLine;
  }
  const auto header = [&](const std::string& text, int x) {
    return label_at(
        text, fmt::format("screen {:.5f}, screen {:.5f}", double(x) / chart.width, 1 - height_at(kTitle + kLine / 2.0)),
        "left", Color::muted, "font ',12'");
  };
  commands += header(chart.detail_header, layout.detail);
  commands += header(chart.text_header, chart.width - layout.right + kTextGap);
  commands += reference_commands(chart, layout);
  std::string alt = chart.title + ":";
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const IntervalRow& row = chart.rows[i];
    commands += row_commands(row, static_cast<int>(i) + 1, layout, chart.width);
    alt += fmt::format(" {} {};", row.label, row.text);
  }
  commands += "plot NaN notitle\n";
  return {.name = chart.name,
          .width = chart.width,
          .height = layout.height,
          .commands = commands,
          .alt = alt,
          .soft_edges = true};
}

}  // namespace crope::report
