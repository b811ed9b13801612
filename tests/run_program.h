// Runs the built program as a user does.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::test {

struct ProgramResult {
  int status;  // exit status, or -1 when a signal ended it
  std::string out;
  std::string err;
};

// `arguments` goes through the shell as it is written.
inline ProgramResult run_program(const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string command = std::string(CROPE_BINARY) + " " + arguments + " >" + (folder / "out").string() + " 2>" +
                              (folder / "err").string() + " </dev/null";
  const int status = std::system(command.c_str());
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = read_file(folder / "out"),
          .err = read_file(folder / "err")};
}

}  // namespace crope::test
