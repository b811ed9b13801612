#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

const std::string kServedDir = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope";

// Starts a server, ends it with SIGTERM when it says that it serves, and gives its exit status and what it said.
test::ProgramResult serve_and_end(const std::string& flags) {
  const test::TemporaryFolder folder;
  const std::string err = (folder / "err").string();
  const std::string script = std::string(CROPE_BINARY) + " serve " + kServedDir + " --port 0 " + flags + " 2>" + err +
                             " & pid=$!; until grep -q 'serving ' " + err +
                             " || ! kill -0 $pid; do sleep 0.05; done; kill -TERM $pid; wait $pid";
  const int status = std::system(script.c_str());
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = {}, .err = read_file(folder / "err")};
}

TEST(ServeCommand, PrintsItsContextAndExitsWithZeroAfterSigterm) {
  const auto whole = serve_and_end("");
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_NE(whole.err.find("context: 64 of the model's 64 tokens"), std::string::npos) << whole.err;
  const auto shorter = serve_and_end("--context 32 --allow-host a.example --allow-host b.example");
  EXPECT_EQ(shorter.status, 0) << shorter.err;
  EXPECT_NE(shorter.err.find("context: 32 of the model's 64 tokens"), std::string::npos) << shorter.err;
}

TEST(ServeCommand, ContextsBeyondTheWindowAreUsageErrors) {
  const auto result = run_program("serve " + kServedDir + " --port 0 --context 65");
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find("--context: expected a number from 1 to 64, got 65"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace crope
