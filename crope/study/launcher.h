// Starts this program as a child process, alone or through a command that starts several ranks, such as
// "torchrun --nproc-per-node 8 --no-python".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace crope::study {

struct Launcher {
  std::string command;            // goes through the shell as it is written; empty: nothing is launched
  std::filesystem::path program;  // this one
  std::filesystem::path log;      // what it prints is appended here; empty: standard error
};

// Runs `command program arguments...` and waits. Safe for concurrent use. A signal that comes meanwhile
// (InterruptScope) is passed on once, so that it can leave its files in order.
// Throws Error with its status if it fails without a signal to stop.
void run_launched(const Launcher& launcher, const std::vector<std::string>& arguments);

// `word` as one word of a shell's.
std::string shell_word(const std::string& word);

}  // namespace crope::study
