#include "crope/dist/rank_device.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "crope/base/error.h"

namespace crope::dist {

int visible_cuda_devices() {
  return at::hasCUDA() ? static_cast<int>(at::getNumGPUs()) : 0;
}

torch::Device rank_device(const std::string& name, const Launch& launch, int cuda_devices) {
  if (name == "auto" && cuda_devices == 0) return torch::kCPU;
  const torch::Device device = [&] {
    try {
      return torch::Device(name == "auto" ? "cuda" : name);
    } catch (const c10::Error&) {
      throw UsageError(fmt::format("device: unknown device '{}'", name), "auto, cpu, cuda or cuda:N");
    }
  }();
  if (device.is_cpu()) return torch::kCPU;
  if (!device.is_cuda()) {
    throw UsageError(fmt::format("device: '{}' is not supported", name), "auto, cpu, cuda or cuda:N");
  }
  if (cuda_devices == 0) {
    throw UsageError(fmt::format("device: '{}' not found: this LibTorch has no CUDA, or no device is visible", name),
                     "set device to cpu, or build with -DTorch_ROOT of a CUDA LibTorch");
  }
  int index = device.has_index() ? device.index() : 0;
  if (launch.size > 1) index = cuda_devices == 1 ? 0 : launch.local_rank;
  if (index >= cuda_devices) {
    throw UsageError(fmt::format("device: cuda:{} not found: {} visible", index, cuda_devices),
                     launch.size > 1 ? "start at most as many ranks on a machine as it has devices"
                                     : "CUDA_VISIBLE_DEVICES decides which devices are visible");
  }
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace crope::dist
