#include "crope/train/run_dir.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

class RunDir : public testing::Test {
 protected:
  void make(std::initializer_list<std::int64_t> steps) {
    for (const std::int64_t step : steps) fs::create_directories(checkpoint_path(folder_.path(), step));
  }

  std::vector<std::int64_t> steps(const std::vector<Checkpoint>& checkpoints) {
    std::vector<std::int64_t> result;
    for (const Checkpoint& each : checkpoints) result.push_back(each.step);
    return result;
  }

  using Steps = std::vector<std::int64_t>;
  test::TemporaryFolder folder_;
};

TEST_F(RunDir, ListsCheckpointsByStepAndNothingElse) {
  EXPECT_TRUE(list_checkpoints(folder_.path()).empty());
  make({500, 20, 1'000'000'000});
  fs::create_directories(folder_ / "checkpoints/.step_00000900.abc");
  fs::create_directories(folder_ / "checkpoints/step_12x");
  fs::create_directories(folder_ / "checkpoints/step_");
  EXPECT_EQ(steps(list_checkpoints(folder_.path())), (Steps{20, 500, 1'000'000'000}));
  EXPECT_EQ(checkpoint_path("r", 500).string(), "r/checkpoints/step_00000500");
}

TEST_F(RunDir, GoesOnFromTheLinkThenFromOlderOnes) {
  make({10, 20, 30});
  EXPECT_EQ(steps(resume_candidates(folder_.path())), (Steps{30, 20, 10}));
  link_checkpoint(folder_.path(), kLatestLink, 20);
  EXPECT_EQ(fs::read_symlink(folder_ / "latest"), "checkpoints/step_00000020");
  EXPECT_EQ(steps(resume_candidates(folder_.path())), (Steps{20, 10}));
}

TEST_F(RunDir, KeepsTheNewestAndTheBest) {
  make({10, 20, 30, 40, 50});
  prune_checkpoints(folder_.path(), 50, 0, {});
  EXPECT_EQ(list_checkpoints(folder_.path()).size(), 5u);
  prune_checkpoints(folder_.path(), 40, 2, 10);
  EXPECT_EQ(steps(list_checkpoints(folder_.path())), (Steps{10, 30, 40, 50}));
}

}  // namespace
}  // namespace crope::train
