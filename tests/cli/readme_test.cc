// The README and the tutorials show what the program does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

std::string readme() {
  return read_file(std::filesystem::path(CROPE_SOURCE_DIR) / "README.md");
}

std::set<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.insert((*match)[1].str());
  }
  return found;
}

TEST(Readme, EveryCommandOfTheTableExists) {
  const std::set<std::string> commands = all_matches(readme(), std::regex("`crope ([a-z]+)"));
  EXPECT_GE(commands.size(), 15u);
  for (const std::string& command : commands) {
    const auto help = run_program(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_NE(help.out.find("Usage: crope " + command), std::string::npos) << command;
  }
}

TEST(Readme, EveryMakeTargetExists) {
  const std::string makefile = read_file(std::filesystem::path(CROPE_SOURCE_DIR) / "Makefile");
  const std::set<std::string> targets = all_matches(readme(), std::regex("make ([a-z-]+)"));
  EXPECT_TRUE(targets.contains("quickstart") && targets.contains("test"));
  for (const std::string& target : targets) EXPECT_NE(makefile.find("\n" + target + ":"), std::string::npos) << target;
}

// Every example with its output, "    $ build/release/crope ..." and the indented lines behind it.
TEST(Readme, ExamplesPrintWhatStandsThere) {
  const std::string text = readme();
  int examples = 0;
  const std::string start = "    $ build/release/crope ";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::size_t command = at + start.size(), output = text.find('\n', command) + 1;
    std::string expected;
    for (std::size_t line = output; text.compare(line, 4, "    ") == 0;) {
      const std::size_t end = text.find('\n', line) + 1;
      expected += text.substr(line + 4, end - line - 4);
      line = end;
    }
    const auto result = run_program(text.substr(command, output - 1 - command));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, expected);
    ++examples;
  }
  EXPECT_GE(examples, 1);
}

// What `make quickstart` runs, with a smaller world and fewer steps.
TEST(Readme, TheQuickstartEndsWithAReportAndCommandsThatRun) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "quickstart").string();
  write_file(folder / "tiny.json",
             R"({"num_layers": 1, "num_heads": 2, "d_model": 16, "d_ff": 16, "seq_len": 32, "max_seq_len": 256,
                 "batch_size": 2, "steps": 2, "warmup_steps": 1})");
  const auto result = run_program(
      fmt::format("quickstart --out {} --documents 1500 --limit 20 --recipe {}", out, (folder / "tiny.json").string()));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "quickstart/report/index.html"));
  const std::size_t next = result.out.find("What to try next:\n");
  ASSERT_NE(next, std::string::npos) << result.out;
  int commands = 0;
  for (const std::string& line : all_matches(result.out.substr(next), std::regex("\n  crope ([^\n]+)"))) {
    const auto followed = run_program(line);
    EXPECT_EQ(followed.status, 0) << line << ": " << followed.err;
    ++commands;
  }
  EXPECT_EQ(commands, 3);
}

// The commands of a page in order: lines and table cells that begin with "$crope ", without comments.
std::vector<std::string> commands_of_page(const std::string& page) {
  const std::string text = read_file(std::filesystem::path(CROPE_SOURCE_DIR) / "docs" / page);
  const std::regex pattern("(?:^|\n|`)\\$crope ([^\n`#]+)");
  std::vector<std::string> commands;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    commands.push_back((*match)[1]);
  }
  return commands;
}

// The command with a model and a run of seconds: of a flag given twice the last one counts.
std::string made_small(const std::string& command) {
  if (!command.starts_with("train ")) return command;
  const bool has_model = command.find("--init-from") != std::string::npos;
  return command + " --steps 4 --batch-size 2 --warmup-steps 1 --validation-rows 2 --checkpoint-every 0" +
         (has_model ? "" : " --seq-len 16 --num-layers 1 --d-model 32 --num-heads 2 --d-ff 16");
}

// In a folder of its own, with the texts that the pages name.
class Docs : public testing::Test {
 protected:
  void SetUp() override {
    std::string book;
    for (const char* name : {"data.md", "log.md", "mathematics.md", "training.md"}) {
      book += read_file(std::filesystem::path(CROPE_SOURCE_DIR) / "docs" / name);
    }
    for (const char* name : {"book.txt", "other.txt", "stories.txt"}) write_file(folder_ / name, book);
    std::filesystem::current_path(folder_.path());
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  static void expect_runs(const std::string& command) {
    const auto result = run_program(made_small(command));
    EXPECT_EQ(result.status, 0) << command << ": " << result.err;
  }

  // All commands of the page but `crope serve`, which does not end by itself.
  static void expect_page_runs(const std::string& page, std::size_t at_least) {
    const std::vector<std::string> commands = commands_of_page(page);
    EXPECT_GE(commands.size(), at_least);
    for (const std::string& command : commands) {
      if (!command.starts_with("serve ")) expect_runs(command);
    }
  }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const test::TemporaryFolder folder_;
};

TEST_F(Docs, TheTutorialRuns) {
  expect_page_runs("tutorial.md", 12);
}

TEST_F(Docs, TheConversionTutorialRuns) {
  expect_runs("tokenizer train stories.txt --vocab-size 300 --special-token '<s>' --out tokenizer");
  expect_runs("data prepare stories.txt --tokenizer tokenizer --out data");
  expect_runs("train --data data --out run");
  expect_runs("export run stories15M --format hf");
  expect_page_runs("tutorial_conversion.md", 9);
}

}  // namespace
}  // namespace crope
