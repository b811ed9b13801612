#include "crope/dist/rank_device.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::dist {
namespace {

torch::Device cuda(int index) {
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

TEST(RankDevice, AutoTakesCudaWhereThereIsSome) {
  EXPECT_EQ(rank_device("auto", {}, 0), torch::Device(torch::kCPU));
  EXPECT_EQ(rank_device("auto", {}, 2), cuda(0));
  EXPECT_EQ(rank_device("cpu", {}, 2), torch::Device(torch::kCPU));
}

TEST(RankDevice, NamesCount) {
  EXPECT_EQ(rank_device("cuda", {}, 1), cuda(0));
  EXPECT_EQ(rank_device("cuda:1", {}, 2), cuda(1));
}

TEST(RankDevice, RanksOfAMachineShareItsDevices) {
  const Launch third{.rank = 11, .size = 16, .local_rank = 3, .local_size = 8};
  EXPECT_EQ(rank_device("cuda", third, 8), cuda(3));
  EXPECT_EQ(rank_device("auto", third, 8), cuda(3));
  EXPECT_EQ(rank_device("auto", third, 1), cuda(0)) << "each rank sees its own device alone";
  EXPECT_EQ(rank_device("cpu", third, 8), torch::Device(torch::kCPU));
  EXPECT_THROW(rank_device("auto", third, 2), UsageError);
}

TEST(RankDevice, WhatIsMissingIsNamed) {
  EXPECT_THROW(rank_device("cuda", {}, 0), UsageError);
  EXPECT_THROW(rank_device("cuda:2", {}, 2), UsageError);
  EXPECT_THROW(rank_device("gpu", {}, 2), UsageError);
  EXPECT_THROW(rank_device("meta", {}, 2), UsageError);
  EXPECT_THROW(rank_device("", {}, 2), UsageError);
}

}  // namespace
}  // namespace crope::dist
