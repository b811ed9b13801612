#include "cli/version.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "crope/ops/cpu/isa.h"

namespace crope::cli {

std::string version_line() {
  const std::string kernels = ops::cpu::fused_kernels_enabled() ? ops::cpu::instruction_set() : "off";
  return fmt::format("crope {}, LibTorch {} ({}), fused kernels: {}", CROPE_VERSION, TORCH_VERSION,
                     at::get_cpu_capability(), kernels);
}

}  // namespace crope::cli
