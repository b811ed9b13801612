// The command line as a whole: help, versions, mistakes and exit codes.
#include <gtest/gtest.h>

#include "tests/run_program.h"

namespace crope {
namespace {

using test::ProgramResult;
using test::run_program;

TEST(CommandLine, HelpAndVersion) {
  const ProgramResult help = run_program("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("params"), std::string::npos);
  EXPECT_EQ(run_program("score --help").status, 0);
  EXPECT_NE(run_program("score --help").out.find("Example: crope score"), std::string::npos);
  const ProgramResult version = run_program("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_NE(version.out.find("LibTorch"), std::string::npos);
}

TEST(CommandLine, MistakesGetTheNearestNameAndStatusTwo) {
  const ProgramResult command = run_program("parms");
  EXPECT_EQ(command.status, 2);
  EXPECT_EQ(command.err, "error: crope: unknown command 'parms'\nhint: did you mean 'params'?\n");
  const ProgramResult flag = run_program("params --vocab-siz=3");
  EXPECT_EQ(flag.status, 2);
  EXPECT_EQ(flag.err, "error: crope params: unknown flag '--vocab-siz'\nhint: did you mean '--vocab-size'?\n");
  const ProgramResult recipe = run_program("params --recipe papper");
  EXPECT_EQ(recipe.status, 2);
  EXPECT_NE(recipe.err.find("did you mean 'paper'?"), std::string::npos);
  EXPECT_EQ(run_program("").status, 2);
  EXPECT_EQ(run_program("params --d-model").status, 2);
  EXPECT_EQ(run_program("params --d-model banana").status, 2);
  EXPECT_EQ(run_program("params extra").status, 2);
}

TEST(CommandLine, ResultsThatCannotBeWrittenAreAFailure) {
  EXPECT_EQ(std::system(CROPE_BINARY " params >/dev/full 2>/dev/null") >> 8, 1);
}

}  // namespace
}  // namespace crope
