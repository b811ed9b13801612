#include "crope/study/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"

namespace crope::study {
namespace {

// In a process group of its own: a Ctrl-C reaches it through us, once.
pid_t spawn_shell(const std::string& line, const std::filesystem::path& log) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  if (!log.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  }
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const char* const arguments[] = {"sh", "-c", line.c_str(), nullptr};
  pid_t process = 0;
  const int code =
      ::posix_spawn(&process, "/bin/sh", &actions, &attributes, const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw Error(fmt::format("cannot start '{}': {}", line, std::strerror(code)));
  return process;
}

int wait_for(pid_t process) {
  bool is_told = false;
  while (true) {
    if (interrupt_requested() && !is_told) {
      ::kill(process, SIGTERM);
      is_told = true;
    }
    int status = 0;
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended < 0 && errno != EINTR) throw Error(fmt::format("cannot wait for a process: {}", std::strerror(errno)));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

std::string shell_word(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void run_launched(const Launcher& launcher, const std::vector<std::string>& arguments) {
  std::string line = fmt::format("exec {} {}", launcher.command, shell_word(launcher.program.string()));
  for (const std::string& argument : arguments) line += " " + shell_word(argument);
  const int status = wait_for(spawn_shell(line, launcher.log));
  if (interrupt_requested() || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  throw Error(fmt::format("'{}' ended with {} {}", line, WIFEXITED(status) ? "status" : "signal",
                          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)),
              fmt::format("its own message is {}; run the same command again to resume the study",
                          launcher.log.empty() ? "above" : "at the end of " + launcher.log.string()));
}

}  // namespace crope::study
