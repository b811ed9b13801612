#include "crope/study/launcher.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

TEST(Launcher, RunsTheProgramBehindTheCommandWithItsWordsAsTheyAre) {
  const test::TemporaryFolder folder;
  const std::string name = "a 'name' with $HOME; and more";
  run_launched({.command = "env GREETING=hello", .program = "/bin/sh"},
               {"-c", "printf '%s %s' \"$GREETING\" \"$1\" > \"$0\"", (folder / "out").string(), name});
  EXPECT_EQ(read_file(folder / "out"), "hello " + name);
}

TEST(Launcher, WhatItPrintsIsAppendedToTheLog) {
  const test::TemporaryFolder folder;
  const Launcher launcher{.command = "env", .program = "/bin/sh", .log = folder / "log"};
  run_launched(launcher, {"-c", "echo one; echo two >&2"});
  run_launched(launcher, {"-c", "echo three"});
  EXPECT_EQ(read_file(folder / "log"), "one\ntwo\nthree\n");
  try {
    run_launched(launcher, {"-c", "exit 1"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find((folder / "log").string()), std::string::npos) << e.hint();
  }
}

TEST(Launcher, AFailureIsAnErrorWithItsStatus) {
  try {
    run_launched({.command = "env", .program = "/bin/sh"}, {"-c", "exit 3"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("ended with status 3"), std::string::npos) << e.what();
  }
  EXPECT_THROW(run_launched({.command = "env", .program = "/bin/sh"}, {"-c", "kill -KILL $$"}), Error);
  EXPECT_THROW(run_launched({.command = "no-such-command-here", .program = "x"}, {}), Error);
}

}  // namespace
}  // namespace crope::study
