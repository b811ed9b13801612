#include "crope/interop/hf_files.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/model/tensor_file.h"
#include "tests/temporary_folder.h"

namespace crope::interop {
namespace {

TEST(HfFiles, ReadsInFp32AndChecksShapes) {
  const test::TemporaryFolder folder;
  const auto value = at::randn({2, 3}).to(torch::kBFloat16);
  formats::write_safetensors(folder / "model.safetensors", {model::tensor_source("a", value)});
  const HfFiles files(folder.path());
  EXPECT_EQ(files.names(), std::set<std::string>{"a"});
  EXPECT_TRUE(at::equal(files.read("a", {2, 3}), value.to(torch::kFloat32)));
  EXPECT_THROW(files.read("a", {3, 2}), Error);
  EXPECT_THROW(files.read("b", {2, 3}), Error);
}

TEST(HfFiles, RefusesAFolderWithoutWeightsAndABadIndex) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(HfFiles(folder.path()), Error);
  write_file(folder / "model.safetensors.index.json", "{}");
  EXPECT_THROW(HfFiles(folder.path()), Error);
  write_file(folder / "model.safetensors.index.json", R"({"weight_map": {"a": 1}})");
  EXPECT_THROW(HfFiles(folder.path()), Error);
}

}  // namespace
}  // namespace crope::interop
