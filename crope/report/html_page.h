// One self-contained HTML page: text, figures inside it as SVG, tables. Opens without a network, in light and dark, and
// prints.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "crope/report/figure.h"

namespace crope::report {

// All text is escaped; `code` between back quotes becomes code, and a blank line starts a new paragraph.
struct Prose {
  std::string text;
};

// Figures side by side where there is room, one below the other where there is not.
struct FigureRow {
  std::vector<DrawnFigure> figures;
  std::string caption;
  int narrowest = 380;  // pixels below which a figure is not made smaller while there is another line to go to
};

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // cells that look like numbers are set to the right
  std::string caption;
  std::string summary = {};  // folded away behind it unless empty
};

// Shown as it is, to be copied; folded away behind `summary` unless that is empty.
struct Listing {
  std::string text;
  std::string summary;
};

using Block = std::variant<Prose, FigureRow, Table, Listing>;

struct Section {
  std::string id;  // the anchor
  std::string title;
  std::vector<Block> blocks;
};

struct Page {
  std::string title;
  std::string lead;  // one or two sentences under it
  std::vector<Section> sections;
  std::string footer;
};

std::string html_page(const Page& page);

// &, <, > and quotes as entities.
std::string escape_html(std::string_view text);

}  // namespace crope::report
