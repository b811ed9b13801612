#include "crope/report/legend.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/rounding.h"

namespace crope::report {
namespace {

constexpr int kEntryHeight = 21, kFoot = 10, kSample = 30, kGap = 20, kCharacterWidth = 8;

struct Layout {
  int columns, rows, column_width;
};

Layout layout_of(const std::vector<LegendEntry>& entries, int figure_width) {
  int widest = 0;
  for (const LegendEntry& entry : entries) widest = std::max(widest, text_width(entry.label));
  const int column_width = kSample + 8 + widest + kGap;
  const auto count = static_cast<int>(entries.size());
  const int fitting = std::clamp(figure_width / column_width, 1, std::max(1, count));
  const int rows = divide_up(count, fitting);
  return {divide_up(count, std::max(1, rows)), rows, column_width};  // no ragged last row where it can be avoided
}

}  // namespace

const char* dash_pattern(Dash dash) {
  switch (dash) {
    case Dash::dashed:
      return "dt (7,4)";
    case Dash::dotted:
      return "dt (2,3)";
    case Dash::solid:
      break;
  }
  return "dt solid";
}

int text_width(std::string_view text) {
  const auto characters = std::ranges::count_if(text, [](unsigned char c) { return (c & 0xC0) != 0x80; });
  return static_cast<int>(characters) * kCharacterWidth;
}

int legend_height(const std::vector<LegendEntry>& entries, int figure_width) {
  return entries.empty() ? 0 : layout_of(entries, figure_width).rows * kEntryHeight + kFoot;
}

Legend legend(const std::vector<LegendEntry>& entries, int figure_width, int figure_height) {
  Legend made{.height = legend_height(entries, figure_width)};
  if (entries.empty()) return made;
  const Layout layout = layout_of(entries, figure_width);
  const int left = std::max(4, (figure_width - layout.columns * layout.column_width + kGap) / 2);
  const auto x_at = [&](int x) { return static_cast<double>(x) / figure_width; };
  const auto y_at = [&](double y) { return y / figure_height; };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const LegendEntry& entry = entries[i];
    // Down the columns, as lists are read.
    const int column = static_cast<int>(i) / layout.rows, row = static_cast<int>(i) % layout.rows;
    const int x = left + column * layout.column_width;
    const double y = made.height - kEntryHeight * (row + 0.5);
    if (entry.is_box) {
      made.commands += fmt::format(
          "set object rectangle from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} fs solid noborder f{} front\n",
          x_at(x + kSample - 14), y_at(y - 6), x_at(x + kSample), y_at(y + 6),
          line_color(entry.color, entry.transparency).substr(1));
    } else {
      // Without "lt 1" gnuplot's SVG forgets the dashes of a line that differs from the one before in nothing else.
      made.commands +=
          fmt::format("set arrow from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} nohead front lt 1 {} lw 2 {}\n",
                      x_at(x), y_at(y), x_at(x + kSample), y_at(y), dash_pattern(entry.dash), line_color(entry.color));
    }
    made.commands +=
        fmt::format("set label {} at screen {:.5f},{:.5f} left front textcolor rgb {}\n", gnuplot_text(entry.label),
                    x_at(x + kSample + 8), y_at(y), gnuplot_text(row_of(Color::ink).light));
  }
  return made;
}

}  // namespace crope::report
