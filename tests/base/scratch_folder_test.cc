#include "crope/base/scratch_folder.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"

namespace crope {
namespace {

TEST(ScratchFolder, IsRemovedWithWhatItHolds) {
  std::filesystem::path path;
  {
    const ScratchFolder folder("crope_scratch_test"), other("crope_scratch_test");
    path = folder.path();
    EXPECT_NE(path, other.path());
    write_file(folder / "file", "text");
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace crope
