#include "crope/study/machine_speed.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "crope/train/gemm_peak.h"

namespace crope::study {
namespace {

constexpr std::int64_t kFloats = std::int64_t{1} << 26;  // 256 MB: more than caches hold
constexpr int kPasses = 4;

double best_rate(double bytes, const std::function<void()>& pass) {
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pass();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, bytes / seconds);
  }
  return best;
}

// Many sums side by side, so that no addition waits for the one before.
float sum_of(const float* data, std::int64_t count) {
  constexpr std::int64_t kLanes = 64;
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += data[i + lane];
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

MachineSpeed measure_machine() {
  const at::Tensor array = at::ones({kFloats}, at::kFloat);
  auto* data = array.data_ptr<float>();
  const double bytes = static_cast<double>(array.nbytes());
  std::vector<float> sums(static_cast<std::size_t>(at::get_num_threads()));
  MachineSpeed speed{};
  speed.gemm_flops = train::measure_gemm_peak(torch::kCPU);
  speed.read_bytes = best_rate(bytes, [&] {
    at::parallel_for(0, kFloats, 1, [&](std::int64_t begin, std::int64_t end) {
      sums[static_cast<std::size_t>(at::get_thread_num())] = sum_of(data + begin, end - begin);
    });
  });
  speed.write_bytes = best_rate(bytes, [&] {
    at::parallel_for(0, kFloats, 1, [&](std::int64_t begin, std::int64_t end) {
      std::memset(data + begin, 1, sizeof(float) * static_cast<std::size_t>(end - begin));
    });
  });
  return speed;
}

}  // namespace crope::study
