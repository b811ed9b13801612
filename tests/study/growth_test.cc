#include "crope/study/growth.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

TEST(Growth, MeasuresAndDraws) {
  Log quiet(nullptr);
  const test::TemporaryFolder folder;
  const std::vector<GrowthAxis> axes =
      measure_growth({.axes = {"layers"}, .variants = {"rope"}, .repetitions = 1, .most_flops = 3e10}, quiet);
  ASSERT_EQ(axes.size(), 1u);
  ASSERT_GE(axes[0].points.size(), 2u);
  EXPECT_LT(axes[0].points.size(), 5u) << "what is beyond most_flops is left out";
  EXPECT_EQ(axes[0].points[1].value, 2 * axes[0].points[0].value);
  draw_growth(axes, folder.path());
  EXPECT_NE(read_file(folder.path() / "growth_layers.svg").find("<svg"), std::string::npos);
}

TEST(Growth, TwiceTheRowsAreTwiceTheOperations) {
  Log quiet(nullptr);
  const std::vector<GrowthAxis> axes =
      measure_growth({.axes = {"batch"}, .variants = {"rope"}, .repetitions = 1, .most_flops = 2e10}, quiet);
  ASSERT_GE(axes.at(0).points.size(), 2u);
  EXPECT_NEAR(axes[0].points[1].cost.flops / axes[0].points[0].cost.flops, 2, 1e-9);
  const Json json = to_json(axes);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].at("name"), "batch");
  EXPECT_EQ(json[0].at("points").size(), axes[0].points.size());
}

TEST(Growth, AnUnknownAxisIsNamed) {
  Log quiet(nullptr);
  try {
    measure_growth({.axes = {"widht"}}, quiet);
    FAIL() << "measured";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("widht"), std::string::npos);
    EXPECT_NE(error.hint().find("width"), std::string::npos);
  }
  EXPECT_THROW(measure_growth({.axes = {"batch"}, .variants = {"rop"}}, quiet), UsageError);
}

}  // namespace
}  // namespace crope::study
