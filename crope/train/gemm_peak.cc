#include "crope/train/gemm_peak.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/base/stopwatch.h"

namespace crope::train {

double measure_gemm_peak(torch::Device device, torch::ScalarType type) {
  // On a GPU a product must take long beside a launch and the wait for its result.
  const std::int64_t N = device.is_cuda() ? 8192 : 1024;
  constexpr int kRepetitions = 40;
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions(device).dtype(type);
  const at::Tensor a = at::ones({N, N}, options), b = at::ones({N, N}, options);
  at::Tensor c = at::empty({N, N}, options);
  double best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const double seconds = seconds_of([&] {
      at::mm_out(c, a, b);
      c[0][0].item<float>();  // waits for a device that works on its own
    });
    best = std::max(best, 2.0 * static_cast<double>(N * N * N) / seconds);
  }
  return best;
}

}  // namespace crope::train
