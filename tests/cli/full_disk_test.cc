// Whole exports, imports and conversions onto a disk that is too small: a clear word, and nothing that looks whole.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/run_program.h"

namespace crope {
namespace {

namespace fs = std::filesystem;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(disk_);
    mounted_ = ::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=32k") == 0;
    if (!mounted_) GTEST_SKIP() << "a small disk cannot be mounted here: " << std::strerror(errno);
  }
  ~FullDisk() override {
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
  }

  void expect_failure(const std::string& command) {
    const auto result = test::run_program(command);
    EXPECT_EQ(result.status, 1) << command << "\n" << result.err;
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << command << "\n" << result.err;
    EXPECT_TRUE(fs::is_empty(disk_)) << command << " left " << fs::directory_iterator(disk_)->path();
  }

  std::string out(const std::string& name) const { return " " + (disk_ / name).string(); }

  test::TemporaryFolder folder_;
  fs::path disk_ = folder_ / "disk";
  std::string golden_ = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope";
  bool mounted_ = false;
};

TEST_F(FullDisk, ExportImportUpcycle) {
  const std::string hf = (folder_ / "hf").string();
  ASSERT_EQ(test::run_program("export " + golden_ + " " + hf).status, 0);
  expect_failure("export " + golden_ + out("hf"));
  expect_failure("export " + golden_ + out("m.gguf") + " --format gguf");
  expect_failure("import " + hf + out("model"));
  expect_failure("upcycle " + golden_ + out("tied") + " --variant crope_qk");
  expect_failure("prune " + golden_ + out("sparse") + " --sparsity 0.5");
}

TEST_F(FullDisk, DataAndTokenizer) {
  expect_failure("data synth --out" + out("world"));
}

}  // namespace
}  // namespace crope
