#include "crope/ops/tensor_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace crope::ops {
namespace {

TEST(TensorMemory, LargeTensorsAreCountedAndReused) {
  keep_tensor_memory();
  keep_tensor_memory();
  const std::size_t before = tensor_memory_stats().in_use;
  void* data = nullptr;
  {
    const torch::Tensor x = at::zeros({1024, 1024});
    data = x.data_ptr();
    EXPECT_EQ(tensor_memory_stats().in_use, before + (4u << 20));
    EXPECT_EQ(x.sum().item<float>(), 0.0f);
  }
  EXPECT_EQ(tensor_memory_stats().in_use, before);
  EXPECT_EQ(at::empty({1024, 1024}).data_ptr(), data);
}

TEST(TensorMemory, SmallTensorsAreNotFromThePool) {
  keep_tensor_memory();
  const std::size_t before = tensor_memory_stats().in_use;
  torch::Tensor x = at::ones({16});
  EXPECT_EQ(tensor_memory_stats().in_use, before);
  x.resize_({1 << 20});  // grows into the pool, and keeps what it held
  EXPECT_EQ(x.narrow(0, 0, 16).sum().item<float>(), 16.0f);
  EXPECT_EQ(tensor_memory_stats().in_use, before + (4u << 20));
}

}  // namespace
}  // namespace crope::ops
