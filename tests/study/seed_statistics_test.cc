#include "crope/study/seed_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "crope/study/benchmarks.h"
#include "crope/study/run_folders.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

using report::RunData;

TEST(SeedStatistics, TheMarginIsStudents) {
  EXPECT_FALSE(student_margin({1}).has_value());
  // t of 0.975 with two degrees of freedom is 4.30265, the standard error 1/sqrt(3).
  EXPECT_NEAR(*student_margin({1, 2, 3}), 4.30265 / std::sqrt(3.0), 1e-5);
}

TEST(SeedStatistics, SeedsThatLackTheValueAreSkipped) {
  const RunData one{.seed = 0}, two{.seed = 1, .tokens = 5}, three{.seed = 2, .tokens = 7};
  const SeedGroup group{.label = "rope", .variant = "rope", .runs = {&one, &two, &three}};
  const auto tokens = [](const RunData& run) { return run.tokens > 0 ? std::optional(run.tokens) : std::nullopt; };
  const auto value = over_seeds(group, tokens);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->mean, 6);
  EXPECT_EQ(value->values, (std::vector<double>{5, 7}));
  EXPECT_FALSE(over_seeds(group, [](const RunData&) { return std::optional<double>(); }).has_value());
}

TEST(SeedStatistics, AScoreOfOneRunHasTheErrorOfItsItems) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs =
      report::read_runs(expand_runs({test::make_study(folder / "study", {"rope", "crope_all"}, 2, 10)}));
  const std::vector<SeedGroup> groups = group_by_seed(runs);
  const SeedGroup alone{.label = "rope", .variant = "rope", .runs = {&runs[0]}};
  EXPECT_NEAR(*score_over_seeds(alone, benchmark_by_task("hellaswag"))->margin, 1.96 * 0.0046, 1e-9);
  // Two seeds 0.0002 apart: t of one degree of freedom is 12.706.
  EXPECT_NEAR(*score_over_seeds(groups[0], benchmark_by_task("hellaswag"))->margin, 12.7062 * 0.0001, 1e-6);
}

TEST(SeedStatistics, DifferencesPairSeeds) {
  const test::TemporaryFolder folder;
  const auto study = test::make_study(folder / "study", {"rope", "crope_all", "half_rope_all"}, 3, 50);
  std::filesystem::remove_all(study / "rope_1");
  std::vector<RunData> runs = report::read_runs(expand_runs({study}));
  const std::vector<report::VariantValue> differences = loss_differences(group_by_seed(runs));
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].label, "crope_all");
  ASSERT_EQ(differences[0].values.size(), 2u);
  EXPECT_NEAR(differences[0].mean, 0.02, 1e-4);
  EXPECT_NEAR(differences[1].mean, 0.04, 1e-4);
}

TEST(SeedStatistics, WithoutRopeOfTheSameSettingsThereIsNoDifference) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs =
      report::read_runs({test::make_run(folder / "rope_0", {.steps = 100}),
                         test::make_run(folder / "crope_all_0", {.variant = "crope_all", .steps = 50})});
  EXPECT_TRUE(loss_differences(group_by_seed(runs)).empty());
}

}  // namespace
}  // namespace crope::study
