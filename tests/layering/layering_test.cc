// Arrows go down only: a folder may include itself and the rows below its own. Folders of one row do not see each
// other, and nothing below the Torch line includes LibTorch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Highest first (docs/architecture.md).
const std::vector<std::vector<std::string>> kRows = {
    {"cli"},
    {"study"},
    {"serve", "eval", "train", "interop", "analysis", "report"},
    {"infer", "dist"},
    {"model", "optim"},
    {"ops"},
    {"data", "world", "run"},
    {"formats", "text"},
    {"base"},
};
const std::set<std::string> kWithoutTorch = {"base", "formats", "text", "data", "world", "run", "report"};

// The one place that chooses kernels, the one that gives tensors the kernels' memory, and the one that chooses between
// their products and those of a BLAS.
const std::set<std::string> kKernelUsers = {"crope/ops/device.cc", "crope/ops/tensor_memory.cc",
                                            "crope/ops/product_source.cc"};

int row_of(const std::string& folder) {
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    for (const std::string& name : kRows[row]) {
      if (name == folder) return static_cast<int>(row);
    }
  }
  return -1;
}

// "ops" of crope/ops/rope.h, "cli" of cli/main.cc.
std::string folder_of(const fs::path& path) {
  auto part = path.begin();
  return *part == "crope" ? std::next(part)->string() : part->string();
}

void check_file(const fs::path& root, const fs::path& file) {
  static const std::regex include_line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  const std::string from = folder_of(fs::relative(file, root));
  ASSERT_GE(row_of(from), 0) << file << " is in a folder that the table does not have";
  std::ifstream stream(file);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::smatch match;
    if (!std::regex_search(line, match, include_line)) continue;
    const std::string target = match[2];
    if (target.starts_with("crope/") || target.starts_with("cli/")) {
      const std::string to = folder_of(target);
      EXPECT_TRUE(to == from || row_of(to) > row_of(from))
          << file << ":" << number << ": " << from << " includes " << to;
      EXPECT_TRUE(fs::exists(root / target)) << file << ":" << number << ": there is no " << target;
    }
    if (target.starts_with("crope/ops/cpu/")) {
      const std::string path = fs::relative(file, root).string();
      EXPECT_TRUE(path.starts_with("crope/ops/cpu/") || kKernelUsers.contains(path))
          << file << ":" << number << ": kernels are reached through crope/ops/device.h";
    }
    const bool is_torch = std::regex_search(target, std::regex("^(torch|ATen|c10)/"));
    const bool is_kernel = fs::relative(file, root).string().starts_with("crope/ops/cpu/");
    EXPECT_FALSE(is_torch && (is_kernel || kWithoutTorch.contains(from)))
        << file << ":" << number << " crosses the Torch line";
  }
}

TEST(Layering, ArrowsGoDownOnly) {
  const fs::path root = CROPE_SOURCE_DIR;
  int files = 0;
  for (const char* top : {"crope", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      check_file(root, entry.path());
      ++files;
    }
  }
  EXPECT_GT(files, 20) << "the sources were not found below " << root;
}

}  // namespace
