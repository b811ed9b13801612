#include "crope/base/interrupt.h"

#include <signal.h>

#include <array>
#include <atomic>

namespace crope {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

// A signal handler reaches nothing but what is global.
std::atomic<int> requested = 0;  // the number of the signal
static_assert(std::atomic<int>::is_always_lock_free);
std::array<struct sigaction, kSignals.size()> former_actions;

void on_signal(int signal) {
  requested.store(signal);
}

}  // namespace

Interrupted::Interrupted(const std::string& message)
    : Error(message), signal_(interrupt_requested() ? requested.load() : SIGTERM) {}

InterruptScope::InterruptScope() {
  requested.store(0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // and no SA_RESTART: a read that waits for input ends
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &former_actions[i]);
}

InterruptScope::~InterruptScope() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_actions[i], nullptr);
  requested.store(0);
}

bool interrupt_requested() {
  return requested.load() != 0;
}

void throw_if_interrupted() {
  if (interrupt_requested()) throw Interrupted("interrupted");
}

}  // namespace crope
