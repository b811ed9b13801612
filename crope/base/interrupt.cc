#include "crope/base/interrupt.h"

#include <signal.h>

#include <array>
#include <atomic>

#include "crope/base/error.h"

namespace crope {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

// A signal handler reaches nothing but what is global.
std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);
std::array<struct sigaction, kSignals.size()> former_actions;

void on_signal(int) {
  requested.store(true);
}

}  // namespace

InterruptScope::InterruptScope() {
  requested.store(false);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // and no SA_RESTART: a read that waits for input ends
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &former_actions[i]);
}

InterruptScope::~InterruptScope() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_actions[i], nullptr);
  requested.store(false);
}

bool interrupt_requested() {
  return requested.load();
}

void throw_if_interrupted() {
  if (interrupt_requested()) throw Error("interrupted");
}

}  // namespace crope
