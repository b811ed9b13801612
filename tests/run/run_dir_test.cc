#include "crope/run/run_dir.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::run {
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
  EXPECT_TRUE(prune_checkpoints(folder_.path(), 40, 2, 10).empty());
  EXPECT_EQ(steps(list_checkpoints(folder_.path())), (Steps{10, 30, 40, 50}));
}

// A folder in which nothing can be removed. Root may remove anything, so a mount point would be needed there.
TEST_F(RunDir, ACheckpointThatCannotBeRemovedIsReported) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may remove anything";
  make({10, 20, 30});
  fs::permissions(folder_ / "checkpoints", fs::perms::owner_read | fs::perms::owner_exec);
  const std::vector<std::string> failures = prune_checkpoints(folder_.path(), 30, 1, {});
  fs::permissions(folder_ / "checkpoints", fs::perms::owner_all);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_NE(failures[0].find("step_00000010"), std::string::npos) << failures[0];
  EXPECT_EQ(list_checkpoints(folder_.path()).size(), 3u);
}

TEST_F(RunDir, IsARunWithAnyOfItsFiles) {
  EXPECT_FALSE(holds_run(folder_.path()));
  EXPECT_FALSE(holds_run(folder_ / "absent"));
  for (const char* name : {kRecordFile, kMetricsFile, kResultsFile, kItemsFile}) {
    const fs::path run = folder_ / (std::string("with_") + name);
    fs::create_directories(run);
    write_file(run / name, "{}");
    EXPECT_TRUE(holds_run(run)) << name;
  }
}

TEST_F(RunDir, ReadsItsRecord) {
  EXPECT_TRUE(read_record(folder_.path()).is_null());
  write_file(folder_ / kRecordFile, R"({"train": {"steps": 620}})");
  EXPECT_EQ(planned_steps(read_record(folder_.path())), 620);
  for (const char* other : {"{}", R"({"train": 3})", R"({"train": {}})", R"({"train": {"steps": "620"}})"}) {
    write_file(folder_ / kRecordFile, other);
    EXPECT_FALSE(planned_steps(read_record(folder_.path()))) << other;
  }
  EXPECT_FALSE(planned_steps(nullptr));
  for (const char* damaged : {"[1]", "{"}) {
    write_file(folder_ / kRecordFile, damaged);
    EXPECT_THROW(read_record(folder_.path()), Error) << damaged;
  }
}

TEST_F(RunDir, HasReachedWhatItCanResumeFrom) {
  EXPECT_FALSE(has_reached(folder_.path(), 1));
  make({100, 200});
  EXPECT_TRUE(has_reached(folder_.path(), 200));
  EXPECT_FALSE(has_reached(folder_.path(), 201));
  link_checkpoint(folder_.path(), kLatestLink, 100);
  EXPECT_FALSE(has_reached(folder_.path(), 200));
}

}  // namespace
}  // namespace crope::run
