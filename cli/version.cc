#include "cli/version.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>

#include "crope/ops/cpu/isa.h"

namespace crope::cli {

std::string version_line() {
  const std::string kernels = ops::cpu::fused_kernels_enabled() ? ops::cpu::instruction_set() : "off";
  return fmt::format("crope {}, LibTorch {} ({}), fused kernels: {}", CROPE_VERSION, TORCH_VERSION,
                     at::get_cpu_capability(), kernels);
}

Json program_record() {
  // Arguments are separated by NUL in this file; the shell's quotes are gone.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!command.empty()) command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {{"version", CROPE_VERSION},
          {"libtorch", TORCH_VERSION},
          {"instruction_set", at::get_cpu_capability()},
          {"fused_kernels", ops::cpu::fused_kernels_enabled() ? ops::cpu::instruction_set() : "off"},
          {"command", command},
          {"date", date}};
}

}  // namespace crope::cli
