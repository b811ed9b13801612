#include "crope/train/gemm_peak.h"

#include <gtest/gtest.h>

#include <cmath>

namespace crope::train {
namespace {

// A processor of any kind does more than a million and less than 10^16 operations a second: a mistake in the count of
// operations or in the unit of time is larger than that.
TEST(GemmPeak, IsARateThatMachinesHave) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const double rate = measure_gemm_peak(torch::kCPU, type);
    EXPECT_GT(rate, 1e6);
    EXPECT_LT(rate, 1e16);
  }
}

}  // namespace
}  // namespace crope::train
