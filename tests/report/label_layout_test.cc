#include "crope/report/label_layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace crope::report {
namespace {

using Places = std::vector<double>;

TEST(LabelLayout, LabelsWithRoomStay) {
  EXPECT_EQ(spread_labels({30, 10, 50}, 10, 0, 100), (Places{30, 10, 50}));
  EXPECT_TRUE(spread_labels({}, 10, 0, 100).empty());
}

TEST(LabelLayout, LabelsThatTouchMoveApartEvenly) {
  EXPECT_EQ(spread_labels({50, 50}, 10, 0, 100), (Places{45, 55}));
  EXPECT_EQ(spread_labels({52, 50, 51}, 10, 0, 100), (Places{61, 41, 51}));
}

TEST(LabelLayout, LabelsStayBetweenTheEnds) {
  EXPECT_EQ(spread_labels({0, 0, 0}, 10, 0, 100), (Places{0, 10, 20}));
  EXPECT_EQ(spread_labels({100, 100, 98}, 10, 0, 100), (Places{90, 100, 80}));
}

}  // namespace
}  // namespace crope::report
