#include "crope/study/machine_speed.h"

#include <gtest/gtest.h>

namespace crope::study {
namespace {

// Wide bounds: they catch a wrong unit or a pass that was never made, and no machine falls outside of them.
TEST(MachineSpeed, IsThatOfAMachine) {
  const MachineSpeed speed = measure_machine();
  for (const double rate : {speed.read_bytes, speed.write_bytes, read_bandwidth(1)}) {
    EXPECT_GT(rate, 1e7);
    EXPECT_LT(rate, 1e14);
  }
  EXPECT_GT(speed.gemm_flops, 1e6);
  EXPECT_LT(speed.gemm_flops, 1e16);
}

}  // namespace
}  // namespace crope::study
