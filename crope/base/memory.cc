#include "crope/base/memory.h"

#include <fmt/format.h>

#include <fstream>

namespace crope {
namespace {

// The value of a line of /proc/self/status, which are in kB.
std::uint64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * 1024;
  }
  return 0;
}

}  // namespace

std::uint64_t resident_memory() {
  return status_bytes("VmRSS:");
}

std::uint64_t peak_memory() {
  return status_bytes("VmHWM:");
}

std::string format_bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace crope
