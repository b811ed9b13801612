// A legend at the foot of a figure, in as many columns as fit: gnuplot's own goes where it likes.
#pragma once

#include <string>
#include <vector>

#include "crope/report/figure.h"

namespace crope::report {

enum class Dash { solid, dashed, dotted };

// dt (7,4)
const char* dash_pattern(Dash dash);

// About how many pixels `text` takes in the font of figures: characters, not bytes, on the generous side.
int text_width(std::string_view text);

struct LegendEntry {
  std::string label;
  Color color;
  bool is_box = false;  // a filled square instead of a line
  Dash dash = Dash::solid;
  double transparency = 0;
};

struct Legend {
  std::string commands;
  int height;  // pixels that it takes at the foot; 0 for no entries
};

Legend legend(const std::vector<LegendEntry>& entries, int figure_width, int figure_height);

// The height alone; it does not depend on the figure's.
int legend_height(const std::vector<LegendEntry>& entries, int figure_width);

}  // namespace crope::report
