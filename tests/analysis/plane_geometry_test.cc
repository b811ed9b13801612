#include "crope/analysis/plane_geometry.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::analysis {
namespace {

TEST(PlaneGeometry, SigmasDoWhatThePaperSays) {
  const auto maps = sigma_maps({{1, 0}, {0, 2}});
  EXPECT_EQ(maps[0].images, (std::vector<PlaneVector>{{1, 0}, {0, 2}}));
  EXPECT_EQ(maps[1].images, (std::vector<PlaneVector>{{0, 1}, {2, 0}}));   // about the line at 45 degrees
  EXPECT_EQ(maps[2].images, (std::vector<PlaneVector>{{0, -1}, {2, 0}}));  // by 90 degrees
  EXPECT_EQ(maps[3].images, (std::vector<PlaneVector>{{1, 0}, {0, -2}}));  // about the x axis
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(maps[i].orientation, i == 0 || i == 2 ? 1 : -1);
}

TEST(PlaneGeometry, OneVectorGoesAnywhereEitherWayAndTheSecondTellsThemApart) {
  const PlaneVector target = {-0.7, 1.9};
  const auto maps = maps_to(target, {{2, 1}, {0.5, 3}});
  for (const PlaneMap& map : maps) {
    EXPECT_NEAR(map.images[0][0], target[0], 1e-12);
    EXPECT_NEAR(map.images[0][1], target[1], 1e-12);
  }
  EXPECT_EQ(maps[0].orientation, 1);
  EXPECT_EQ(maps[1].orientation, -1);
  const double apart = std::abs(maps[0].images[1][0] - maps[1].images[1][0]);
  EXPECT_GT(apart, 0.1);
  EXPECT_THROW(maps_to(target, {}), Error);
  EXPECT_THROW(maps_to(target, {{0, 0}}), Error);
}

}  // namespace
}  // namespace crope::analysis
