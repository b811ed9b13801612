#include "crope/report/legend.h"

#include <gtest/gtest.h>

namespace crope::report {
namespace {

TEST(Legend, TakesAsManyRowsAsItNeeds) {
  const std::vector<LegendEntry> entries(6, {.label = "half_rope_all", .color = Color::blue});
  const int wide = legend_height(entries, 2000), narrow = legend_height(entries, 200);
  EXPECT_LT(wide, narrow);
  EXPECT_EQ(legend(entries, 450, 400).height, legend_height(entries, 450));
  EXPECT_EQ(legend({}, 450, 400).height, 0);
  EXPECT_TRUE(legend({}, 450, 400).commands.empty());
}

TEST(Legend, CountsCharactersNotBytes) {
  EXPECT_EQ(text_width("σ0"), text_width("ab"));
}

}  // namespace
}  // namespace crope::report
