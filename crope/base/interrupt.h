// Ctrl-C and SIGTERM, handled at the next safe point, so that a command can finish writing its files.
#pragma once

#include <string>

#include "crope/base/error.h"

namespace crope {

// A signal stopped the work; files are in order. The program's exit status is 128 + signal().
class Interrupted : public Error {
 public:
  // Takes the signal that has come; SIGTERM if it came to another rank.
  explicit Interrupted(const std::string& message);

  int signal() const { return signal_; }

 private:
  int signal_;
};

// While one exists, the first SIGINT or SIGTERM only sets a flag; the second ends the process as usual. The destructor
// puts the former handlers back. One at a time; made by a command, not by the library.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();

  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

// Whether a signal has come since the scope began; false outside one.
bool interrupt_requested();

// Throws Interrupted if a signal has come.
void throw_if_interrupted();

}  // namespace crope
