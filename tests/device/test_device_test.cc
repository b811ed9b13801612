// The test device itself: it would prove nothing if the host could touch its memory, or tensors could be mixed.
#include "tests/device/test_device.h"

#include <ATen/ATen.h>

#include "tests/tensor_checks.h"

namespace crope::test {
namespace {

using torch::Tensor;

TEST(TestDevice, ComputesAsTheCpuDoes) {
  const Tensor x = at::randn({5, 7}), y = at::randn({7, 3});
  const Tensor on_device = x.to(test_device()).mm(y.to(test_device())).t() * 2;
  EXPECT_EQ(on_device.device(), test_device());
  EXPECT_TRUE(at::equal(on_device.cpu(), x.mm(y).t() * 2));
}

TEST(TestDevice, TheHostCannotReadOrWriteItsMemory) {
  const Tensor x = at::ones({3}, at::TensorOptions(test_device()));
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* const address = static_cast<volatile float*>(x.data_ptr());
  EXPECT_DEATH(static_cast<void>(address[0] + 1), "");
  EXPECT_DEATH(address[0] = 1, "");
}

TEST(TestDevice, TensorsOfTwoDevicesCannotBeMixed) {
  const Tensor x = at::ones({3, 3}, at::TensorOptions(test_device())), y = at::ones({3, 3});
  EXPECT_THROW(x.add(y), c10::Error);
  EXPECT_THROW(y.mm(x), c10::Error);
  EXPECT_THROW(at::cat({x, y}), c10::Error);
  EXPECT_THROW(x.index_select(0, at::zeros({1}, at::kLong)), c10::Error);
  EXPECT_THROW(x.mul(y[0][0]), c10::Error) << "CUDA takes a scalar of the CPU; the rule here is stricter";
}

TEST(TestDevice, CountsWhatReachesIt) {
  const Tensor x = at::ones({4, 6}, at::TensorOptions(test_device()));
  reset_traffic();
  const Tensor y = x.view({6, 4}).t().narrow(0, 1, 2);
  EXPECT_EQ(traffic().launches, 0) << "views are free";
  const Tensor z = y + y;
  EXPECT_EQ(traffic().launches, 1);
  z.to(at::kBFloat16);
  EXPECT_EQ(traffic().launches, 2);
  EXPECT_EQ(traffic().casts_from.at(memory_of(z)), 1);
  EXPECT_EQ(traffic().readings, 0);
  EXPECT_EQ(z.sum().item<float>(), 24);
  EXPECT_EQ(traffic().readings, 1);
  z.cpu();
  EXPECT_EQ(traffic().readings, 2);
  at::zeros({2}).to(test_device());
  EXPECT_EQ(traffic().uploads, 1);
}

}  // namespace
}  // namespace crope::test
