#include "crope/run/checkpoint_removal.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "crope/run/run_dir.h"
#include "tests/temporary_folder.h"

namespace crope::run {
namespace {

namespace fs = std::filesystem;

fs::path make_checkpoint(const fs::path& run, std::int64_t step) {
  const fs::path path = checkpoint_path(run, step);
  fs::create_directories(path);
  write_file(path / "config.json", "{}");
  return path;
}

TEST(CheckpointRemoval, LeavesNothing) {
  const test::TemporaryFolder run;
  const fs::path checkpoint = make_checkpoint(run.path(), 2);
  EXPECT_EQ(remove_checkpoint(checkpoint), "");
  EXPECT_TRUE(fs::is_empty(run / kCheckpoints));
  EXPECT_EQ(remove_checkpoint(checkpoint), "") << "there is none";
}

// What a removal that was killed has left is not a checkpoint, and the next prune removes it.
TEST(CheckpointRemoval, WhatIsLeftIsNoCheckpointAndIsSwept) {
  const test::TemporaryFolder run;
  fs::rename(make_checkpoint(run.path(), 2), run / kCheckpoints / ".step_00000002.removed");
  const fs::path checkpoint = make_checkpoint(run.path(), 2);
  make_checkpoint(run.path(), 4);
  EXPECT_EQ(list_checkpoints(run.path()).size(), 2u);
  EXPECT_EQ(remove_checkpoint(checkpoint), "");
  fs::rename(make_checkpoint(run.path(), 3), run / kCheckpoints / ".step_00000003.removed");
  EXPECT_EQ(list_checkpoints(run.path()).size(), 1u);
  EXPECT_TRUE(prune_checkpoints(run.path(), 4, 1, {}).empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(run / kCheckpoints), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace crope::run
