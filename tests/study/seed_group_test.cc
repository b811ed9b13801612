#include "crope/study/seed_group.h"

#include <gtest/gtest.h>

#include "crope/study/run_folders.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

using report::RunData;
using test::make_run;

std::vector<std::string> labels(const std::vector<SeedGroup>& groups) {
  std::vector<std::string> found;
  for (const SeedGroup& group : groups) found.push_back(group.label);
  return found;
}

TEST(SeedGroup, SeedsOfAVariantAreOneGroup) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs =
      report::read_runs(expand_runs({test::make_study(folder / "study", {"rope", "crope_all"}, 3, 20)}));
  const std::vector<SeedGroup> groups = group_by_seed(runs);
  EXPECT_EQ(labels(groups), (std::vector<std::string>{"rope", "crope_all"}));
  ASSERT_EQ(groups[0].runs.size(), 3u);
  EXPECT_EQ(groups[0].runs[2]->seed, 2);
  EXPECT_EQ(groups[0].settings, groups[1].settings);
  EXPECT_EQ(most_seeds(groups), 3u);
  EXPECT_EQ(most_seeds({}), 0u);
}

TEST(SeedGroup, OtherSettingsAreAnotherGroup) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs = report::read_runs({make_run(folder / "a", {.steps = 20, .seed = 0}),
                                                 make_run(folder / "b", {.steps = 20, .seed = 1}),
                                                 make_run(folder / "c", {.steps = 40, .seed = 2})});
  const std::vector<SeedGroup> groups = group_by_seed(runs);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].runs.size(), 2u);
  EXPECT_EQ(groups[1].label, "c");
  EXPECT_NE(groups[0].label, groups[1].label);
}

TEST(SeedGroup, RunsWithoutASeedOrWithTheSameOneStayApart) {
  const test::TemporaryFolder folder;
  std::vector<RunData> unknown =
      report::read_runs({make_run(folder / "a", {.steps = 20}), make_run(folder / "b", {.steps = 20})});
  EXPECT_EQ(labels(group_by_seed(unknown)), (std::vector<std::string>{"a", "b"}));
  std::vector<RunData> same = report::read_runs(
      {make_run(folder / "c", {.steps = 20, .seed = 1}), make_run(folder / "d", {.steps = 20, .seed = 1})});
  EXPECT_EQ(labels(group_by_seed(same)), (std::vector<std::string>{"c", "d"}));
}

TEST(SeedGroup, AnUnfinishedRunIsInNoMean) {
  const test::TemporaryFolder folder;
  const auto study = test::make_study(folder / "study", {"rope"}, 3, 20);
  write_file(study / "rope_1/metrics.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n");
  std::vector<RunData> runs = report::read_runs(expand_runs({study}));
  const std::vector<SeedGroup> groups = group_by_seed(runs);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].runs.size(), 2u);
  EXPECT_EQ(runs[1].notes.back(), "stops at step 2 of 20 and is in no mean");
}

TEST(SeedGroup, StudiesBesideEachOtherAreNamedByTheirFolders) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs = report::read_runs(expand_runs(
      {test::make_study(folder / "short", {"rope"}, 2, 20), test::make_study(folder / "long", {"rope"}, 2, 40)}));
  EXPECT_EQ(labels(group_by_seed(runs)), (std::vector<std::string>{"short/rope", "long/rope"}));
}

}  // namespace
}  // namespace crope::study
