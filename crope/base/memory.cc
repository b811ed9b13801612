#include "crope/base/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "crope/base/error.h"

namespace crope {
namespace {

// The value of a line of a file of /proc whose values are in kB.
std::optional<std::uint64_t> value_of(const char* file, const std::string& field) {
  std::ifstream status(file);
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * 1024;
  }
  return {};
}

// A file that holds one number; nothing for "max".
std::optional<std::uint64_t> number_in(const char* file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (!(in >> number)) return {};
  return number;
}

// The container's pages of files that can be dropped; 0 where the system does not tell.
std::uint64_t container_cache() {
  std::ifstream stat("/sys/fs/cgroup/memory.stat");
  std::string field;
  std::uint64_t value = 0, cached = 0;
  while (stat >> field >> value) {
    if (field == "inactive_file" || field == "active_file") cached += value;
  }
  return cached;
}

}  // namespace

std::uint64_t resident_memory() {
  return value_of("/proc/self/status", "VmRSS:").value_or(0);
}

std::uint64_t peak_memory() {
  return value_of("/proc/self/status", "VmHWM:").value_or(0);
}

std::uint64_t free_memory() {
  std::uint64_t free = value_of("/proc/meminfo", "MemAvailable:").value_or(std::numeric_limits<std::uint64_t>::max());
  const auto limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  // What a container has read from files counts as used, and is given back when it is needed.
  const std::uint64_t cached = container_cache();
  if (limit && used) free = std::min(free, *limit - std::min(*limit, *used - std::min(*used, cached)));
  return free;
}

void require_memory(double bytes, std::string_view who, std::string_view what) {
  const auto free = static_cast<double>(free_memory());
  if (bytes <= free) return;
  throw Error(fmt::format("{} needs about {} for {}; {} are free", who, format_bytes(bytes), what, format_bytes(free)),
              "choose a smaller one, or a machine with more memory");
}

std::string format_bytes(double bytes) {
  if (bytes >= 1e12) return fmt::format("{:.2f} TB", bytes / 1e12);
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace crope
