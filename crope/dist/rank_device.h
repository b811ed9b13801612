// Which device a rank computes on.
#pragma once

#include <torch/types.h>

#include <string>

#include "crope/dist/launch.h"

namespace crope::dist {

// The CUDA devices that this process sees.
int visible_cuda_devices();

// "cpu", "cuda", "cuda:N", or "auto": cuda if a device is visible, else cpu. Of several ranks on a machine each takes
// the device of its local rank; where each sees one device alone, that one. Throws UsageError for other names, and for
// devices that are not there.
torch::Device rank_device(const std::string& name, const Launch& launch, int cuda_devices = visible_cuda_devices());

}  // namespace crope::dist
