// crope reproduce as a user runs it. Whole studies are in tests/end_to_end/kill_reproduce.sh.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

TEST(ReproduceCommand, BadFlagsAreUsageErrorsBeforeAnyWork) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "study").string();
  for (const char* flags :
       {"--scale huge", "--scale smoke --jobs -1", "--scale smoke --seeds -1", "--scale smoke --only rope_9",
        "--scale smoke --jobs 2 --threads 2", "--scale smoke --validate-also wiki",
        "--scale smoke --validate-also wiki=absent", "--scale paper"}) {
    const auto result = run_program(fmt::format("reproduce --out {} {}", out, flags));
    EXPECT_EQ(result.status, 2) << flags << ": " << result.err;
    EXPECT_FALSE(std::filesystem::exists(out)) << flags;
  }
}

TEST(ReproduceCommand, APlanWritesNothing) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "study").string();
  const auto result = run_program(fmt::format("reproduce --scale smoke --plan --threads 1 --out {}", out));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("plan: 6 runs, 0 finished"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace crope
