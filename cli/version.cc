#include "cli/version.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

namespace crope::cli {

std::string version_line() {
  return fmt::format("crope {}, LibTorch {}, {}", CROPE_VERSION, TORCH_VERSION, at::get_cpu_capability());
}

}  // namespace crope::cli
