#include <gtest/gtest.h>

#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

// A golden model has 97 tokens, too few for bytes: its embedding is not used here, only its refusals are.
std::string golden_dir() {
  return std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope";
}

TEST(EvalCommand, MistypedTasksAndFlagsAreUsageErrors) {
  const auto slip = run_program("eval " + golden_dir() + " --tasks helaswag --data /tmp --out /tmp/x");
  EXPECT_EQ(slip.status, 2);
  EXPECT_NE(slip.err.find("did you mean 'hellaswag'?"), std::string::npos) << slip.err;
  EXPECT_EQ(run_program("eval " + golden_dir()).status, 2);                                      // no tasks
  EXPECT_EQ(run_program("eval " + golden_dir() + " --tasks hellaswag --out /tmp/x").status, 2);  // no data
  EXPECT_EQ(run_program("eval " + golden_dir() + " --tasks hellaswag --data /tmp").status, 2);   // no place for results
  EXPECT_EQ(run_program("eval " + golden_dir() + " --tasks hellaswag --data /tmp --out /tmp/x --limit -3").status, 2);
}

TEST(EvalCommand, AModelWithoutTokenizerIsToldWhatToDo) {
  const test::TemporaryFolder folder;
  const auto result = run_program("eval " + golden_dir() + " --tasks hellaswag --data " + folder.path().string() +
                                  " --out " + (folder / "out").string());
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("tokenizer.json"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
  EXPECT_TRUE(result.out.empty());
}

TEST(EvalCommand, HelpNamesTheTasks) {
  const auto help = run_program("eval --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("hellaswag, mmlu, gsm8k, perplexity"), std::string::npos) << help.out;
}

}  // namespace
}  // namespace crope
