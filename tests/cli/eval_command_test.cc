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
  const test::TemporaryFolder folder;
  const std::string eval = "eval " + golden_dir();
  const std::string data = " --data " + folder.path().string();
  const std::string out = " --out " + (folder / "out").string();
  const auto slip = run_program(eval + " --tasks helaswag" + data + out);
  EXPECT_EQ(slip.status, 2);
  EXPECT_NE(slip.err.find("did you mean 'hellaswag'?"), std::string::npos) << slip.err;
  EXPECT_EQ(run_program(eval).status, 2);                                // no tasks
  EXPECT_EQ(run_program(eval + " --tasks hellaswag" + out).status, 2);   // no data
  EXPECT_EQ(run_program(eval + " --tasks hellaswag" + data).status, 2);  // no place for results
  EXPECT_EQ(run_program(eval + " --tasks hellaswag" + data + out + " --limit -3").status, 2);
}

TEST(EvalCommand, AModelWithoutTokenizerIsToldWhatToDo) {
  const test::TemporaryFolder folder;
  const auto result = run_program("eval " + golden_dir() + " --tasks hellaswag --data " + folder.path().string() +
                                  " --out " + (folder / "out").string());
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("tokenizer.json"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
  EXPECT_TRUE(result.out.empty());
}

TEST(EvalCommand, HelpNamesTheTasks) {
  const auto help = run_program("eval --help");
  EXPECT_EQ(help.status, 0);
  for (const char* task : {"hellaswag", "mmlu", "gsm8k", "arc_challenge", "lambada_openai", "perplexity"}) {
    EXPECT_NE(help.out.find(task), std::string::npos) << help.out;
  }
}

}  // namespace
}  // namespace crope
