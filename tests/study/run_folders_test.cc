#include "crope/study/run_folders.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

namespace fs = std::filesystem;

TEST(RunFolders, AStudyStandsForItsRuns) {
  const test::TemporaryFolder folder;
  for (const char* name : {"half_rope_all_0", "rope_10", "rope_9", "crope_qk_0", "other"})
    test::make_run(folder / name, {.steps = 1});
  fs::create_directories(folder / "report");
  fs::create_directories(folder / "data");
  std::vector<std::string> names;
  for (const fs::path& run : expand_runs({folder.path()})) names.push_back(run.filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"rope_9", "rope_10", "crope_qk_0", "half_rope_all_0", "other"}));
}

TEST(RunFolders, NamesAreVariantAndSeed) {
  EXPECT_EQ(parse_run_name("half_rope_all_12")->variant, "half_rope_all");
  EXPECT_EQ(parse_run_name("half_rope_all_012")->seed, 12);
  for (const char* other : {"", "rope", "rope_", "rope_x", "rope_-1", "_1", "crope_1", "rope_1_old",
                            "rope_1234567890123456789", "rope_1 "}) {
    EXPECT_FALSE(parse_run_name(other)) << other;
  }
}

TEST(RunFolders, RunsStayInTheirOrder) {
  const test::TemporaryFolder folder;
  const std::vector<fs::path> runs = {test::make_run(folder / "b", {.steps = 1}),
                                      test::make_run(folder / "a", {.steps = 1})};
  EXPECT_EQ(expand_runs(runs), runs);
}

TEST(RunFolders, OtherFoldersAreRefusedWithAHint) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(expand_runs({folder / "absent"}), Error);
  try {
    expand_runs({folder.path()});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is not a run directory and holds none"), std::string::npos);
    EXPECT_NE(error.hint().find("<variant>_<seed>/"), std::string::npos);
  }
}

}  // namespace
}  // namespace crope::study
