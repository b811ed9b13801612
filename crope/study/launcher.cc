#include "crope/study/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
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

// In a process group of its own: a Ctrl-C reaches it through us, once. It is told to stop when we are killed.
pid_t spawn_shell(const std::string& line, const std::filesystem::path& log) {
  const pid_t parent = ::getpid();
  const int output = log.empty() ? STDERR_FILENO : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0) throw Error(fmt::format("cannot write {}: {}", log.string(), std::strerror(errno)));
  const pid_t process = ::fork();
  if (process == 0) {  // only async-signal-safe calls from here on: other threads may hold locks
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(output, STDERR_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const int code = errno;
  if (output != STDERR_FILENO) ::close(output);
  if (process < 0) throw Error(fmt::format("cannot start '{}': {}", line, std::strerror(code)));
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
