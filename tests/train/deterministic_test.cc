#include "crope/train/deterministic.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace crope::train {
namespace {

bool is_on() {
  return at::globalContext().deterministicAlgorithms();
}

TEST(Deterministic, IsOnWhileTheScopeLives) {
  const torch::Device gpu("cuda:0");  // named, not used
  {
    const DeterministicScope scope(gpu, true);
    EXPECT_TRUE(is_on());
    EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
    EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  }
  EXPECT_FALSE(is_on());
  EXPECT_TRUE(at::globalContext().deterministicFillUninitializedMemory());
}

TEST(Deterministic, IsOffUnlessAskedForAndOnTheCpu) {
  const DeterministicScope unasked(torch::Device("cuda:0"), false), cpu(torch::kCPU, true);
  EXPECT_FALSE(is_on());
}

}  // namespace
}  // namespace crope::train
