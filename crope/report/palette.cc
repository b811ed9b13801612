#include "crope/report/palette.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace crope::report {
namespace {

struct StyleRow {
  std::string_view variant;
  VariantStyle style;
};

constexpr std::array<StyleRow, 6> kStyles = {{
    {"rope", {Color::ink, true}},
    {"crope_qk", {Color::blue, false}},
    {"crope_qkv", {Color::green, false}},
    {"crope_all", {Color::orange, false}},
    {"half_rope_qk", {Color::blue, true}},
    {"half_rope_all", {Color::orange, true}},
}};

// "  0, 114, 178" as "#0072b2".
std::optional<std::string> hex_of(std::string_view numbers) {
  std::string hex = "#";
  for (int i = 0; i < 3; ++i) {
    while (!numbers.empty() && (numbers.front() == ' ' || numbers.front() == ',')) numbers.remove_prefix(1);
    int value = 0;
    const auto [end, error] = std::from_chars(numbers.data(), numbers.data() + numbers.size(), value);
    if (error != std::errc() || value < 0 || value > 255) return std::nullopt;
    hex += fmt::format("{:02x}", value);
    numbers.remove_prefix(static_cast<std::size_t>(end - numbers.data()));
  }
  return hex;
}

std::string variables(bool dark) {
  std::string css;
  for (const ColorRow& row : kPalette) css += fmt::format("--fig-{}:{};", row.name, dark ? row.dark : row.light);
  return css;
}

}  // namespace

VariantStyle variant_style(std::string_view variant) {
  for (const StyleRow& row : kStyles) {
    if (row.variant == variant) return row.style;
  }
  return {Color::muted, true};
}

std::string palette_css() {
  return fmt::format(":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n", variables(false),
                     variables(true));
}

std::string with_css_colors(std::string_view svg) {
  constexpr std::string_view kOpening = "rgb(";
  std::string result;
  for (;;) {
    const std::size_t begin = svg.find(kOpening);
    const std::size_t end = begin == svg.npos ? svg.npos : svg.find(')', begin);
    if (end == svg.npos) return result.append(svg);
    const std::string_view call = svg.substr(begin, end + 1 - begin);
    const auto hex = hex_of(call.substr(kOpening.size(), call.size() - kOpening.size() - 1));
    std::string replacement(call);
    for (const ColorRow& row : kPalette) {
      if (hex == row.light) replacement = fmt::format("var(--fig-{},{})", row.name, row.light);
    }
    // Gnuplot's own black, of what no command has coloured.
    if (hex == "#000000") replacement = fmt::format("var(--fig-ink,{})", row_of(Color::ink).light);
    result.append(svg.substr(0, begin)).append(replacement);
    svg.remove_prefix(end + 1);
  }
}

}  // namespace crope::report
