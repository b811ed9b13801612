#include "crope/base/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "crope/base/error.h"

namespace crope {
namespace {

constexpr int kMostThreads = 4096;

// The processors' worth of time that a cgroup (version 2) allows, or infinity.
double container_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return INFINITY;
  try {
    return std::stod(quota) / period;
  } catch (const std::exception&) {
    return INFINITY;
  }
}

}  // namespace

int available_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int count = 1;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) count = std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::min<double>(count, std::ceil(container_quota()))));
}

int resolve_thread_count(int requested) {
  if (requested < 0 || requested > kMostThreads) {
    throw UsageError(
        fmt::format("threads = {}: expected a number from 1 to {}, or 0 for all processors", requested, kMostThreads));
  }
  return requested == 0 ? available_processors() : requested;
}

}  // namespace crope
