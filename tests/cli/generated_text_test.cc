// Completions and the man page, as `crope --generate` prints them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/run_program.h"

namespace crope {
namespace {

using test::ProgramResult;
using test::run_program;

// What bash would offer for the words typed so far, the last of which is being typed.
std::string bash_completions(const std::string& words, int count) {
  const test::TemporaryFolder folder;
  const std::string script = (folder / "try.sh").string(), out = (folder / "out").string();
  std::ofstream(script) << "source <(" CROPE_BINARY " --generate bash)\nCOMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=" << count - 1 << "\n_crope\necho \"${COMPREPLY[*]}\"\n";
  EXPECT_EQ(std::system(("bash " + script + " >" + out).c_str()), 0);
  std::string found = read_file(out);
  if (!found.empty()) found.pop_back();
  return found;
}

TEST(GeneratedText, BashOffersCommandsAndFlags) {
  EXPECT_EQ(bash_completions("crope tra", 2), "train");
  EXPECT_EQ(bash_completions("crope tokenizer enc", 3), "encode");
  EXPECT_EQ(bash_completions("crope train --data x --num-l", 5), "--num-layers");
  EXPECT_EQ(bash_completions("crope tokenizer train --vocab", 4), "--vocab-size");
  EXPECT_EQ(bash_completions("crope params --steps", 3), "");
}

TEST(GeneratedText, ZshAndFishDescribeEveryFlag) {
  const std::string zsh = run_program("--generate zsh").out, fish = run_program("--generate fish").out;
  EXPECT_TRUE(zsh.starts_with("#compdef crope\n"));
  EXPECT_NE(zsh.find("'--num-layers:Number of transformer blocks'"), std::string::npos);
  EXPECT_NE(fish.find("-l num-layers -r -d 'Number of transformer blocks'"), std::string::npos);
  EXPECT_NE(fish.find("= 'crope data prepare'"), std::string::npos);
}

TEST(GeneratedText, ManPageHasEveryCommandAndNoStrayRequest) {
  const ProgramResult page = run_program("--generate man");
  EXPECT_EQ(page.status, 0);
  EXPECT_TRUE(page.out.starts_with(".TH CROPE 1"));
  for (const char* command : {"crope train", "crope data prepare", "crope serve"}) {
    EXPECT_NE(page.out.find(std::string(".SS \"") + command + "\""), std::string::npos) << command;
  }
  EXPECT_NE(page.out.find("\\fB\\-\\-num\\-layers\\fR"), std::string::npos);
}

TEST(GeneratedText, AnotherKindIsRefused) {
  const ProgramResult result = run_program("--generate fisch");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "error: --generate fisch: unknown kind\nhint: did you mean 'fish'?\n");
}

}  // namespace
}  // namespace crope
