// The colours of figures and pages: few, told apart by people who do not see red and green (after Okabe and Ito), each
// with a value for light and for dark pages.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace crope::report {

enum class Color { ink, muted, grid, shade, blue, green, orange, amber, sky, purple };

struct ColorRow {
  Color color;
  std::string_view name;
  std::string_view light;  // "#rrggbb", different in every row: figures are drawn with these and recognised by them
  std::string_view dark;
};

inline constexpr std::array<ColorRow, 10> kPalette = {{
    {Color::ink, "ink", "#22262d", "#e4e7ec"},
    {Color::muted, "muted", "#68707d", "#9aa3b0"},
    {Color::grid, "grid", "#dde1e7", "#363d49"},
    {Color::shade, "shade", "#b9c0ca", "#5b6472"},
    {Color::blue, "blue", "#0072b2", "#58b1e6"},
    {Color::green, "green", "#009e73", "#3ccfa2"},
    {Color::orange, "orange", "#d55e00", "#ff9a5a"},
    {Color::amber, "amber", "#dd9a00", "#f2bd49"},
    {Color::sky, "sky", "#56b4e9", "#8fd0f5"},
    {Color::purple, "purple", "#a6498a", "#e19cc8"},
}};

constexpr const ColorRow& row_of(Color color) {
  return kPalette[static_cast<std::size_t>(color)];
}

// How a variant is drawn, by the paper's convention: solid for complex-linear projections, dashed for dense ones;
// variants of equal size share a colour.
struct VariantStyle {
  Color color;
  bool dashed;
};

// A variant that is not in the table is grey and dashed.
VariantStyle variant_style(std::string_view variant);

// The palette as CSS variables --fig-ink, …: light, and dark where the reader prefers it and does not print.
std::string palette_css();

// An SVG drawn in the light values, with each replaced by its variable.
std::string with_css_colors(std::string_view svg);

}  // namespace crope::report
