// The speed of matrix products on this machine: the yardstick for everything else.
#pragma once

#include <torch/types.h>

namespace crope::train {

// Floating-point operations a second of a large square product in `type`, the best of forty, in about half a second.
double measure_gemm_peak(torch::Device device, torch::ScalarType type = torch::kFloat32);

}  // namespace crope::train
