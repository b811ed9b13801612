// The command line as a whole: help, versions, mistakes and exit codes.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

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
  const std::string score = run_program("score --help").out;
  EXPECT_NE(score.find("Example: crope score"), std::string::npos);
  EXPECT_NE(score.find("\n\nExactly one of these:\n  --ids TEXT"), std::string::npos) << score;
  EXPECT_EQ(score.find("\n\n\n"), std::string::npos) << score;
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
  EXPECT_EQ(run_program("evaluate").err, "error: crope: unknown command 'evaluate'\nhint: did you mean 'eval'?\n");
  EXPECT_NE(run_program("train --learning-rate 1").err.find("did you mean '--lr'?"), std::string::npos);
  EXPECT_NE(run_program("train --data x --out y --variant crope").err.find("crope_qk, crope_qkv, crope_all?"),
            std::string::npos);
  EXPECT_EQ(run_program("params --d-model").status, 2);
  EXPECT_EQ(run_program("params --d-model banana").status, 2);
  EXPECT_EQ(run_program("params extra").status, 2);
  EXPECT_NE(run_program("tokenizer enc").err.find("did you mean 'encode'?"), std::string::npos);
  EXPECT_EQ(run_program("train --frobnicate").err,
            "error: crope train: unknown flag '--frobnicate'\nhint: crope train --help\n");
}

TEST(CommandLine, MistakesInValuesNameTheFlagAndWhatIsExpected) {
  const auto message = [](const std::string& arguments) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.status, 2) << arguments;
    return result.err.substr(0, result.err.find('\n'));
  };
  EXPECT_EQ(message("params --d-model banana"),
            "error: crope params: --d-model: expected a whole number, found 'banana'");
  EXPECT_EQ(message("params --d-model 1.5"), "error: crope params: --d-model: expected a whole number, found '1.5'");
  EXPECT_EQ(message("params --d-model"), "error: crope params: --d-model needs a value");
  EXPECT_EQ(message("train --out x --steps 99999999999999999999"),
            "error: crope train: --steps: '99999999999999999999' is out of range");
  EXPECT_EQ(message("train --out x --lr 10%"), "error: crope train: --lr: expected a number, found '10%'");
  EXPECT_EQ(message("train"), "error: crope train: missing --out");
  EXPECT_EQ(message("export model"), "error: crope export: missing out");
  EXPECT_EQ(message("data"), "error: crope data: expected a command: synth, prepare, inspect");
  EXPECT_EQ(message("score model"), "error: crope score: expected exactly one of --ids, --ids-file, --text");
  EXPECT_EQ(message("score model --ids 1 --text a"),
            "error: crope score: expected exactly one of --ids, --ids-file, --text, found 2 of them");
}

TEST(CommandLine, OfAFlagGivenTwiceTheLastCounts) {
  const ProgramResult once = run_program("params --vocab-size 512 --json");
  EXPECT_EQ(run_program("params --vocab-size 64 --vocab-size 512 --json").out, once.out);
}

// The commands as --help lists them, by task.
std::vector<std::string> commands_of(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help.substr(help.find("Start:")));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.starts_with("  ") && !line.starts_with("   ")) words >> names.emplace_back();
  }
  return names;
}

TEST(CommandLine, EveryCommandHasAnExample) {
  const std::vector<std::string> commands = commands_of(run_program("--help").out);
  EXPECT_GE(commands.size(), 16u);
  for (const std::string& command : commands) {
    const ProgramResult help = run_program(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_NE(help.out.find("Example: "), std::string::npos) << command;
    EXPECT_NE(help.out.find("crope " + command), std::string::npos) << command;
  }
}

TEST(CommandLine, WithoutACommandListsThemByTask) {
  const ProgramResult result = run_program("");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, run_program("--help").out);
  EXPECT_LT(result.out.find("Train:"), result.out.find("Convert:"));
}

TEST(CommandLine, FlagsOfTrainStandUnderHeadings) {
  const std::string help = run_program("train --help").out;
  std::size_t before = 0;
  for (const char* heading : {"Run:", "Model:", "Schedule:", "Optimiser:", "Start:", "Data:", "Machine:",
                              "Checkpoints:", "Validation:", "Distributed:"}) {
    const std::size_t place = help.find(std::string("\n") + heading + "\n");
    ASSERT_NE(place, std::string::npos) << heading;
    EXPECT_GT(place, before) << heading;
    before = place;
  }
}

TEST(CommandLine, ResultsThatCannotBeWrittenAreAFailure) {
  EXPECT_EQ(std::system(CROPE_BINARY " params >/dev/full 2>/dev/null") >> 8, 1);
}

}  // namespace
}  // namespace crope
