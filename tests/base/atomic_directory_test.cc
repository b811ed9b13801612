#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/error.h"
#include "crope/base/file.h"

namespace crope {
namespace {

namespace fs = std::filesystem;

class AtomicDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "atomic_directory";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(AtomicDirectoryTest, AppearsWithCommitAndOtherwiseLeavesNothing) {
  {
    AtomicDirectory directory(folder_ / "out");
    write_file(directory.working_path() / "file", "x");
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  AtomicDirectory directory(folder_ / "out");
  write_file(directory.working_path() / "file", "x");
  directory.commit();
  EXPECT_EQ(read_file(folder_ / "out/file"), "x");
  EXPECT_THROW(AtomicDirectory(folder_ / "out"), Error);
}

TEST_F(AtomicDirectoryTest, RemovesWhatTheDeadLeftAndNothingElse) {
  AtomicDirectory living(folder_ / "out");
  for (const char* name : {".out.abcdef", ".out.abcdefg", ".other.abcdef", "out.abcdef"}) {
    fs::create_directories(folder_ / name / "inner");
  }
  AtomicDirectory next(folder_ / "out");
  EXPECT_TRUE(fs::exists(living.working_path()));
  EXPECT_FALSE(fs::exists(folder_ / ".out.abcdef"));
  for (const char* name : {".out.abcdefg", ".other.abcdef", "out.abcdef"})
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

}  // namespace
}  // namespace crope
