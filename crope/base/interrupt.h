// Ctrl-C, and the polite kill: noticed at the next good moment, so that a command can leave its files in order.
#pragma once

namespace crope {

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

// Throws Error "interrupted" if a signal has come.
void throw_if_interrupted();

}  // namespace crope
