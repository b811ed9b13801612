#include "crope/study/machine_speed.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "crope/base/stopwatch.h"
#include "crope/train/gemm_peak.h"

namespace crope::study {
namespace {

constexpr std::int64_t kFloats = std::int64_t{1} << 26;  // 256 MB: more than caches hold
constexpr int kPasses = 4;

double best_rate(double bytes, int passes, const std::function<void()>& pass) {
  double best = 0;
  for (int i = 0; i < passes; ++i) {
    best = std::max(best, bytes / seconds_of(pass));
  }
  return best;
}

// The C library's search for a byte that is nowhere reads as fast as the machine can, whatever the compiler makes of
// our loops. Four places in turn, as a product reads four rows of weights.
bool read_all(const char* data, std::int64_t bytes) {
  constexpr std::int64_t kBlock = 4096;
  constexpr int kAbsentByte = 0x11;
  bool found = false;
  const std::int64_t quarter = bytes / 4;
  for (std::int64_t i = 0; i + kBlock <= quarter; i += kBlock) {
    for (int part = 0; part < 4; ++part)
      found |= std::memchr(data + part * quarter + i, kAbsentByte, kBlock) != nullptr;
  }
  return found;
}

}  // namespace

double read_bandwidth(int passes) {
  const at::Tensor array = at::ones({kFloats}, at::kFloat);
  const auto* data = static_cast<const char*>(array.const_data_ptr());
  std::atomic<bool> found = false;
  const double rate = best_rate(static_cast<double>(array.nbytes()), passes, [&] {
    at::parallel_for(0, static_cast<std::int64_t>(array.nbytes()), 1, [&](std::int64_t begin, std::int64_t end) {
      if (read_all(data + begin, end - begin)) found = true;
    });
  });
  TORCH_INTERNAL_ASSERT(!found);
  return rate;
}

MachineSpeed measure_machine() {
  const at::Tensor target = at::empty({kFloats}, at::kFloat);
  auto* data = static_cast<char*>(target.data_ptr());
  const auto bytes = static_cast<std::int64_t>(target.nbytes());
  MachineSpeed speed{};
  speed.gemm_flops = train::measure_gemm_peak(torch::kCPU);
  speed.read_bytes = read_bandwidth(kPasses);
  speed.write_bytes = best_rate(static_cast<double>(bytes), kPasses, [&] {
    at::parallel_for(0, bytes, 1, [&](std::int64_t begin, std::int64_t end) {
      std::memset(data + begin, 1, static_cast<std::size_t>(end - begin));
    });
  });
  return speed;
}

}  // namespace crope::study
