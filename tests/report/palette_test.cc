#include "crope/report/palette.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::report {
namespace {

TEST(Palette, RowsAreInOrderAndLightValuesDiffer) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < kPalette.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kPalette[i].color), i);
    EXPECT_TRUE(seen.insert(kPalette[i].light).second) << kPalette[i].name;
  }
}

TEST(Palette, ThePapersConvention) {
  for (const char* tied : {"crope_qk", "crope_qkv", "crope_all"}) EXPECT_FALSE(variant_style(tied).dashed) << tied;
  for (const char* dense : {"rope", "half_rope_qk", "half_rope_all"}) EXPECT_TRUE(variant_style(dense).dashed) << dense;
  EXPECT_EQ(variant_style("crope_qk").color, variant_style("half_rope_qk").color);
  EXPECT_EQ(variant_style("crope_all").color, variant_style("half_rope_all").color);
  EXPECT_NE(variant_style("crope_qk").color, variant_style("crope_all").color);
}

TEST(Palette, OnlyItsOwnColoursAreReplaced) {
  EXPECT_EQ(with_css_colors("a rgb(  0, 114, 178) b rgb(1, 2, 3) c"), "a var(--fig-blue,#0072b2) b rgb(1, 2, 3) c");
  EXPECT_EQ(with_css_colors("rgb(oops) rgb(0,0"), "rgb(oops) rgb(0,0");
  EXPECT_EQ(with_css_colors("rgb(0,0,0)"), "var(--fig-ink,#22262d)");
}

}  // namespace
}  // namespace crope::report
