#include "crope/study/loss_curves.h"

#include <gtest/gtest.h>

#include "crope/study/run_folders.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

using report::Points;
using report::RunData;

TEST(LossCurves, MeansAndRangesAreOverCommonSteps) {
  const RunData one{.val_loss = {{10, 3}, {20, 2}, {25, 9}, {30, 1}}}, two{.val_loss = {{10, 5}, {20, 2}, {30, 4}}};
  const SeedGroup group{.label = "rope", .variant = "rope", .runs = {&one, &two}};
  const SeedCurve curve = curve_over_seeds(group, &RunData::val_loss, 1);
  EXPECT_EQ(curve.mean, (Points{{10, 4}, {20, 2}, {30, 2.5}}));
  EXPECT_EQ(curve.range, (report::Band{{10, 3, 5}, {20, 2, 2}, {30, 1, 4}}));
}

TEST(LossCurves, OneRunHasNoRange) {
  const RunData one{.val_loss = {{10, 3}, {20, 2}}};
  const SeedCurve curve = curve_over_seeds({.label = "a", .runs = {&one}}, &RunData::val_loss, 1);
  EXPECT_EQ(curve.mean, one.val_loss);
  EXPECT_TRUE(curve.range.empty());
}

TEST(LossCurves, TheInsetShowsTheLast200StepsOrTheLastThird) {
  EXPECT_EQ(inset_begin(30'000), 29'800);
  EXPECT_EQ(inset_begin(620), 420);
  EXPECT_EQ(inset_begin(600), 400);
  EXPECT_EQ(inset_begin(300), 200);
}

TEST(LossCurves, BothLossesHaveACurvePerVariant) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs =
      report::read_runs(expand_runs({test::make_study(folder / "study", {"rope", "crope_all"}, 3, 620)}));
  const std::vector<report::LossFigure> figures = loss_figures(group_by_seed(runs));
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].title, "Training loss (mean and range of 3 seeds)");
  EXPECT_EQ(figures[0].end_title, "last 200 steps, smoothed");
  EXPECT_EQ(figures[1].end_title, "last 200 steps");
  for (const report::LossFigure& figure : figures) {
    ASSERT_EQ(figure.curves.size(), 2u);
    EXPECT_EQ(figure.curves[1].label, "crope_all");
    EXPECT_FALSE(figure.curves[1].whole_range.empty());
    EXPECT_GE(figure.curves[1].end.front().first, 420);
  }
  // Validations at 450, 500, 550 and 600.
  EXPECT_EQ(figures[1].curves[0].end.size(), 4u);
}

TEST(LossCurves, UnequalNumbersOfSeedsAreInTheNames) {
  const test::TemporaryFolder folder;
  const auto study = test::make_study(folder / "study", {"rope", "crope_all"}, 2, 100);
  std::filesystem::remove_all(study / "rope_1");
  std::vector<RunData> runs = report::read_runs(expand_runs({study}));
  const std::vector<report::LossFigure> figures = loss_figures(group_by_seed(runs));
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].curves[0].label, "rope (1)");
  EXPECT_EQ(figures[0].curves[1].label, "crope_all (2)");
}

TEST(LossCurves, WithoutValidationThereIsOneFigure) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs = report::read_runs({test::make_run(folder / "a", {.steps = 50, .validates = false})});
  EXPECT_EQ(loss_figures(group_by_seed(runs)).size(), 1u);
}

}  // namespace
}  // namespace crope::study
